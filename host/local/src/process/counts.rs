//! The counters of all processes of a host.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use toolhost_workspace::Shortage;

use super::{Cause, State, Totals};

/// Counters that only grow.
#[derive(Debug, Default)]
pub(super) struct Counts {
    started: AtomicU64,
    ended: [AtomicU64; Cause::ALL.len()],
    lost: AtomicU64,
    output: AtomicU64,
    gave_back: AtomicU64,
    refused: Mutex<Refused>,
}

/// The starts that were refused because the machine had no room.
#[derive(Debug, Default)]
struct Refused {
    count: u64,
    /// The last one, with its reason.
    last: Option<(Instant, String)>,
}

impl Counts {
    pub(super) fn started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn output(&self, bytes: usize) {
        self.output.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts sandboxes that idle chats gave back.
    pub(super) fn gave_back(&self, sandboxes: usize) {
        self.gave_back
            .fetch_add(sandboxes as u64, Ordering::Relaxed);
    }

    /// Counts a start that was refused because the machine has no room.
    pub(super) fn refused(&self, why: &str) {
        let mut refused = self.refused.lock();
        refused.count += 1;
        refused.last = Some((Instant::now(), why.to_owned()));
    }

    /// Returns the last start that was refused because the machine had no room.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        let refused = self.refused.lock();
        let (at, why) = refused.last.as_ref()?;
        Some(Shortage {
            count: refused.count,
            seconds_ago: at.elapsed().as_secs(),
            why: why.clone(),
        })
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
            refused: self.refused.lock().count,
            gave_back: value(&self.gave_back),
            ..Totals::default()
        }
    }
}
