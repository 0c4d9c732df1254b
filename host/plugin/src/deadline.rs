//! The deadline of a call.

use std::time::Duration;

use tokio::time::Instant;

use super::failure::Failure;
use super::reached::Reached;
use toolhost_call::metrics::LimitKind;

/// When the host ends a call.
pub(super) struct Deadline {
    /// The instant of the deadline.
    pub(super) at: Instant,
    /// The time from the start of the wait to the deadline.
    pub(super) after: Duration,
}

impl Deadline {
    pub(super) fn new(from: Instant, after: Duration) -> Self {
        let at = from + after;
        Self { at, after }
    }

    /// Returns the failure of a call that reached the deadline.
    pub(super) fn passed(&self) -> Failure {
        Failure::Limit(Reached::time(LimitKind::Deadline, self.after))
    }
}
