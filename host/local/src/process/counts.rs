//! The counters of all processes of a host.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Cause, State, Totals};

/// Counters that only grow.
#[derive(Debug, Default)]
pub(super) struct Counts {
    started: AtomicU64,
    ended: [AtomicU64; Cause::ALL.len()],
    lost: AtomicU64,
    output: AtomicU64,
}

impl Counts {
    pub(super) fn started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn output(&self, bytes: usize) {
        self.output.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts the end of a shell.
    pub(super) fn ended(&self, state: &State) {
        let counter = match state {
            State::Exited(exit) | State::Lingering(exit) => {
                let place = Cause::ALL.iter().position(|cause| *cause == exit.cause);
                place.and_then(|place| self.ended.get(place))
            }
            State::Lost(_) => Some(&self.lost),
            State::Running => None,
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let causes = Cause::ALL.iter().zip(&self.ended);
        let ended = causes.map(|(cause, count)| (cause.name(), count));
        let ended = ended.chain([("lost", &self.lost)]);
        let value = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            started: value(&self.started),
            ended: ended
                .map(|(name, count)| (name.to_owned(), value(count)))
                .collect(),
            output: value(&self.output),
            ..Totals::default()
        }
    }
}
