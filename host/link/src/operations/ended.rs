//! The end of a process with the answer to its start or to a wait, which spares the next request of a caller that waits for it.

use std::time::Duration;

use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::operation::{Answer, Ended, MAX_ENDED, Operation, Wait};
use toolhost_workspace::process::{State, WaitOptions, Wake};

/// The process for whose end a caller waits.
pub(super) enum Waits {
    /// For none.
    No,
    /// For that of a start, for at most this long.
    Start(Option<ChatId>, Duration),
    /// For that of a wait.
    Wait(Option<ChatId>, String),
}

impl Waits {
    /// Returns the process for whose end the caller of an operation waits.
    pub(super) fn of(operation: &Operation, for_end: Option<Duration>) -> Self {
        match (operation, for_end) {
            (Operation::Start(start), Some(time)) => Self::Start(start.owner.clone(), time),
            (Operation::Wait(Wait { owner, id, .. }), _) => Self::Wait(owner.clone(), id.clone()),
            _ => Self::No,
        }
    }

    /// Returns the end of the process, if nothing of it is left and its output is short.
    pub(super) async fn ended(self, workspace: &dyn Workspace, answer: &Answer) -> Option<Ended> {
        let (owner, id, waited) = match (self, answer) {
            (Self::Start(owner, timeout), Answer::Start(Ok(started))) => {
                let options = WaitOptions {
                    timeout,
                    ..WaitOptions::default()
                };
                let waited = workspace.wait(owner.as_ref(), &started.id, options).await;
                (owner, started.id.clone(), waited.ok()?)
            }
            (Self::Wait(owner, id), Answer::Wait(Ok(waited))) => (owner, id, waited.clone()),
            _ => return None,
        };
        if waited.wake != Wake::Ended || !matches!(waited.state, State::Exited(_)) {
            return None;
        }
        let snapshot = workspace.snapshot(owner.as_ref(), &id).await.ok()?;
        let is_short = snapshot.head.len() + snapshot.tail.len() <= MAX_ENDED;
        is_short.then_some(Ended { waited, snapshot })
    }
}
