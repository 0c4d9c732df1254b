//! Watching the processes of which chats want to be told.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolhost_call::notice::{Notice, Told, Trigger};
use toolhost_state::unix_time;
use toolhost_workspace::process::{Error, State, WaitOptions, Wake};

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
            if let Some(told) = removed.run_until_cancelled(shared.happens(&notice)).await {
                shared.tell(&notice.id, told).await;
            }
        });
    }

    /// Returns what happens to the process.
    async fn happens(&self, notice: &Notice) -> Told {
        let (since, until) = match &notice.trigger {
            Trigger::Exit => (0, None),
            Trigger::Output { pattern, since } => (*since, Some(pattern)),
        };
        let told = |state, total, match_end| Told {
            number: 0,
            at_ms: unix_time::now_ms(),
            state,
            total,
            match_end,
        };
        loop {
            let options = WaitOptions {
                timeout: LOOK,
                since,
                until: until.cloned(),
                output: false,
            };
            let began = Instant::now();
            let waiting = self
                .workspace
                .wait(Some(&notice.chat), &notice.process, options);
            match waiting.await {
                // A workspace that does not wait is not asked in a loop.
                Ok(waited) if waited.wake == Wake::TimedOut && began.elapsed() < LOOK / 2 => {
                    tokio::time::sleep(AGAIN).await;
                }
                Ok(waited) if waited.wake == Wake::TimedOut => {}
                Ok(waited) => return told(waited.state, waited.total, waited.match_end),
                Err(Error::Unavailable(_) | Error::UnknownOutcome(_) | Error::Busy(_)) => {
                    tokio::time::sleep(AGAIN).await;
                }
                Err(Error::NotFound(_)) => {
                    let reason = "the process is no longer known".to_owned();
                    return told(State::Lost(reason), 0, None);
                }
                Err(error) => return told(State::Lost(error.to_string()), 0, None),
            }
        }
    }
}
