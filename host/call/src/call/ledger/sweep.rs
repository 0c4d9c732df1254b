//! The sweep, in which the store forgets: once a minute while there are calls, and when there are too many bytes or ids.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::shared::Shared;

/// The time between two sweeps.
const EVERY: Duration = Duration::from_secs(60);

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
        let is_recent = |at: &mut Option<Instant>| at.is_some_and(|at| at.elapsed() < EVERY);
        if is_recent(&mut self.sweeper.swept.lock()) {
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

    fn is_crowded(&self) -> bool {
        let (kept, limits) = (self.sweeper.kept(), self.limits.of_store());
        kept.bytes > limits.outcome_bytes || kept.ids > limits.ids
    }

    async fn sweep(&self) {
        *self.sweeper.swept.lock() = Some(Instant::now());
        match self.keeper.store.sweep(self.limits.of_store()).await {
            Ok(swept) => *self.sweeper.kept.lock() = swept.kept,
            Err(error) => {
                let error = super::keeper::text(&error);
                tracing::warn!(error, "the store cannot forget old calls");
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
