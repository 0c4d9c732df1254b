//! The amount that the store keeps, and the times of its sweeps.

use parking_lot::Mutex;
use tokio::time::Instant;
use toolhost_store::{EndedCall, Kept};

/// The state of the sweeps.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    /// The amounts that the store keeps: those of the last sweep, and the changes since.
    pub(super) kept: Mutex<Kept>,
    pub(super) swept: Mutex<Option<Instant>>,
    /// When a sweep failed last.
    pub(super) failed: Mutex<Option<Instant>>,
    /// Held by the one that sweeps.
    pub(super) sweeping: tokio::sync::Mutex<()>,
}

impl Sweeper {
    /// Counts an outcome.
    pub(super) fn add_outcome(&self, ended: &EndedCall) {
        let mut kept = self.kept.lock();
        kept.outcomes += 1;
        kept.bytes += ended.held();
    }

    /// Counts an id.
    pub(super) fn add_id(&self) {
        self.kept.lock().ids += 1;
    }

    pub(super) fn kept(&self) -> Kept {
        *self.kept.lock()
    }
}
