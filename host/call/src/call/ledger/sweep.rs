//! The sweep, in which the store forgets: once a minute while there are calls, and when there are too many bytes or ids.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::shared::Shared;

/// The time between two sweeps.
const EVERY: Duration = Duration::from_secs(60);

fn is_recent(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at.elapsed() < EVERY)
}

impl Shared {
    /// Sweeps if there are too many bytes or ids. Begins a sweep that goes on by itself if the last one was long ago.
    pub(super) async fn bound(self: &Arc<Self>) {
        if self.is_crowded() {
            let _alone = self.sweeper.sweeping.lock().await;
            if self.is_crowded() {
                self.sweep().await;
            }
            return;
        }
        if is_recent(*self.sweeper.swept.lock()) {
            return;
        }
        let shared = Arc::clone(self);
        self.spawn(async move {
            let Ok(_alone) = shared.sweeper.sweeping.try_lock() else {
                return;
            };
            shared.sweep().await;
        });
    }

    /// Returns whether a sweep is needed now, and may help: one that failed, as on a full disk, is not tried again by every call.
    fn is_crowded(&self) -> bool {
        if is_recent(*self.sweeper.failed.lock()) {
            return false;
        }
        let (kept, limits) = (self.sweeper.kept(), self.limits.of_store());
        kept.bytes > limits.outcome_bytes || kept.ids > limits.ids
    }

    async fn sweep(&self) {
        *self.sweeper.swept.lock() = Some(Instant::now());
        let limits = self.limits.of_store();
        self.keeper.forget_dropped(&limits);
        match self.keeper.store.sweep(limits).await {
            Ok(swept) => *self.sweeper.kept.lock() = swept.kept,
            Err(error) => {
                let error = super::keeper::text(&error);
                tracing::warn!(error, "the store cannot forget old calls");
                *self.sweeper.failed.lock() = Some(Instant::now());
            }
        }
    }

    /// Sweeps now.
    #[cfg(test)]
    pub(super) async fn sweep_now(&self) {
        let _alone = self.sweeper.sweeping.lock().await;
        self.sweep().await;
    }
}
