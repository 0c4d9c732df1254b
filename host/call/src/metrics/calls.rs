//! Calls of all plugins, as their callers see them.

use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{Buckets, Counters, DURATION, Metrics, add};

/// Seconds that calls wait before they run.
const QUEUED: Buckets = Buckets(&[0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0]);

#[derive(Debug)]
pub(super) struct Calls {
    ended: Counters,
    refused: Counters,
    duration: Histogram,
    queued: Histogram,
}

impl Calls {
    pub(super) fn register(r: &mut Registry) -> Self {
        let histogram = |buckets: Buckets| Histogram::new(buckets.0.iter().copied());
        Self {
            ended: add(
                r,
                "calls",
                "Calls that ran, by the state in which they ended",
                Counters::default(),
            ),
            refused: add(
                r,
                "calls_refused",
                "Requests for calls that were not run",
                Counters::default(),
            ),
            duration: add(
                r,
                "call_duration_seconds",
                "Wall-clock time of calls",
                histogram(DURATION),
            ),
            queued: add(
                r,
                "call_queue_seconds",
                "Time that calls waited before they ran",
                histogram(QUEUED),
            ),
        }
    }
}

impl Metrics {
    /// Counts a call that ended in this state.
    pub fn call_ended(&self, state: &'static str, duration: Duration, queued: Duration) {
        let calls = &self.inner.ended;
        calls
            .ended
            .get_or_create(&vec![("state", state.into())])
            .inc();
        calls.duration.observe(duration.as_secs_f64());
        calls.queued.observe(queued.as_secs_f64());
    }

    /// Counts a request for a call that was refused, by one of a few reasons.
    pub fn call_refused(&self, reason: &'static str) {
        let family = &self.inner.ended.refused;
        family.get_or_create(&vec![("reason", reason.into())]).inc();
    }
}
