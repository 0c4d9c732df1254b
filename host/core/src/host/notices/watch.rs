//! Watching the processes of which chats want to be told.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolhost_call::notice::{Notice, Told};
use toolhost_state::unix_time;
use toolhost_workspace::process::{Error, State, Wake};

use super::Shared;

/// How long one wait at a workspace lasts, and after what time a workspace that does not answer is asked again.
const LOOK: Duration = Duration::from_mins(10);
const AGAIN: Duration = Duration::from_secs(5);

impl Shared {
    /// Watches the process of a notice, in a task, until something is told.
    pub(super) fn watch(self: &Arc<Self>, notice: Arc<Notice>) {
        let shared = Arc::clone(self);
        let Some(removed) = self.table.lock().removed(&notice.id) else {
            return;
        };
        self.spawn(async move {
            let happening = removed.run_until_cancelled(shared.happens(&notice));
            let Some(told) = happening.await else {
                return;
            };
            // More may have happened to the process while no host was there. It is told in the order in which it happened.
            let others = shared.table.lock().waiting_with(&notice);
            let mut all = vec![(notice.id.clone(), told)];
            for other in others {
                let looked = shared.look(&other, Duration::ZERO).await;
                all.extend(looked.map(|told| (other.id.clone(), told)));
            }
            all.sort_by_key(|(_, told)| told.match_end.unwrap_or(u64::MAX));
            shared.tell(all).await;
        });
    }

    /// Returns what happens to the process.
    async fn happens(&self, notice: &Notice) -> Told {
        loop {
            let began = Instant::now();
            if let Some(told) = self.look(notice, LOOK).await {
                return told;
            }
            // A workspace that does not answer, or does not wait, is not asked in a loop.
            if began.elapsed() < LOOK / 2 {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Returns what happens to the process within a time; `None` also if its workspace does not answer.
    async fn look(&self, notice: &Notice, timeout: Duration) -> Option<Told> {
        let options = notice.trigger.wait(timeout);
        let waiting = self
            .workspace
            .wait(Some(&notice.chat), &notice.process, options);
        let (state, total, match_end) = match waiting.await {
            Ok(waited) if waited.wake == Wake::TimedOut => return None,
            Ok(waited) => (waited.state, waited.total, waited.match_end),
            Err(Error::NotFound(_)) => {
                let reason = "the process is no longer known".to_owned();
                (State::Lost(reason), 0, None)
            }
            // A wait that failed now may succeed later, and a notice is told once for all.
            Err(_) => return None,
        };
        Some(Told {
            number: 0,
            at_ms: unix_time::now_ms(),
            state,
            total,
            match_end,
        })
    }
}
