//! `toolhost:plugin/progress`: the progress of a call, for the subscribers of its chat, and in the log at debug level.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use wasmtime::Result;
use wasmtime::component::Linker;

use super::State;
use super::bindings::toolhost::plugin::progress as wit;
use super::{Call, CallContext, Of, View};
use crate::line_log::LineLog;
use crate::settings::Settings;
use toolhost_call::call::Request;
use toolhost_call::events::{Event, Events};

/// The interval between two published reports of a call, after the first [`AS_THEY_COME`]. A report within the interval
/// replaces the one before. The last report is always published.
const INTERVAL: Duration = Duration::from_millis(100);

/// How many reports of a call are published at once: all reports of a tool that has a few steps, however fast it is.
const AS_THEY_COME: usize = 16;

/// The longest message, in bytes; a longer one is cut.
const MAX_MESSAGE: usize = 1024;

/// Writes the progress of a guest to its log, and publishes that of a call.
#[derive(Debug)]
pub(crate) struct Progress {
    log: LineLog,
    settings: Arc<Settings>,
    /// `None` while the host asks for the tools, which is no call.
    reports: Option<Reports>,
}

/// Publishes the progress of one call. Dropping this publishes a report that still waits.
#[derive(Debug)]
struct Reports {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    events: Events,
    request: Arc<Request>,
    reported: Mutex<Reported>,
}

#[derive(Debug, Default)]
struct Reported {
    /// The highest `done` so far: by the contract `done` does not decrease, and callers rely on that.
    done: f64,
    told: Option<Instant>,
    count: usize,
    /// The report to publish when the interval is over.
    next: Option<Event>,
    /// Whether a task waits for the end of the interval.
    waiting: bool,
}

impl Progress {
    pub(super) fn begin(context: &CallContext) -> Self {
        Self {
            log: context.log.clone(),
            settings: Arc::clone(&context.settings),
            reports: context.call.as_deref().map(Reports::new),
        }
    }
}

/// Links the interface.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    wit::add_to_linker::<State, Of<Progress>>(linker, State::view)
}

impl Reports {
    fn new(call: &Call) -> Self {
        Self {
            shared: Arc::new(Shared {
                events: call.events.clone(),
                request: Arc::clone(&call.request),
                reported: Mutex::default(),
            }),
        }
    }

    /// Publishes a report now, or at the end of the interval. A report whose `done` is not a finite number, or has decreased,
    /// is left out.
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let mut reported = self.shared.reported();
        if !done.is_finite() || done < reported.done {
            return;
        }
        reported.done = done;
        reported.next = Some(Event::Progress {
            call: self.shared.request.id.clone(),
            done,
            total: total.filter(|total| total.is_finite()),
            message,
        });
        if reported.waiting {
            return;
        }
        let told = reported.told.filter(|_| reported.count >= AS_THEY_COME);
        let left = told.and_then(|told| INTERVAL.checked_sub(told.elapsed()));
        let Some(left) = left else {
            return self.shared.tell(&mut reported);
        };
        reported.waiting = true;
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            tokio::time::sleep(left).await;
            if let Some(shared) = shared.upgrade() {
                let mut reported = shared.reported();
                reported.waiting = false;
                shared.tell(&mut reported);
            }
        });
    }
}

impl Shared {
    fn reported(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock()
    }

    fn tell(&self, reported: &mut Reported) {
        if let Some(event) = reported.next.take() {
            reported.told = Some(Instant::now());
            reported.count = reported.count.saturating_add(1);
            self.events.publish_progress(&self.request.chat, event);
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.shared.tell(&mut self.shared.reported());
    }
}

/// Cuts a text between two characters.
fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

impl wit::Host for View<'_, Progress> {
    async fn report(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Result<()> {
        let of = total
            .map(|total| format!(" of {total}"))
            .unwrap_or_default();
        let text = message
            .as_ref()
            .map(|message| format!(": {message}"))
            .unwrap_or_default();
        self.state
            .log
            .line(tracing::Level::DEBUG, &format!("progress {done}{of}{text}"));
        if let Some(reports) = &self.state.reports {
            // Secrets are removed before the message is cut: else the beginning of one would stay.
            let message = message.map(|message| {
                let message = cut(&message, 2 * MAX_MESSAGE);
                cut(&self.state.settings.redacted(message), MAX_MESSAGE).to_owned()
            });
            reports.report(done, total, message);
        }
        Ok(())
    }
}
