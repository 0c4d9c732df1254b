//! What a call leaves behind: the processes that it started, and what is said of them where nobody else can.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::capability::StartedProcess;
use crate::id::ChatId;
use crate::process::{Signal, State};
use crate::tool::{Reply, ToolError};
use crate::workspace::Workspace;

/// How many processes a message names.
const NAMED: usize = 8;

/// Ends the processes that a call started in the foreground, unless it replied: then nobody was promised them. If there is
/// an error, it says which processes there were, as the guest no longer can.
pub(super) async fn settle(
    workspace: &Arc<dyn Workspace>,
    chat: &ChatId,
    processes: &[StartedProcess],
    replied: bool,
    result: &mut Result<Reply, ToolError>,
) {
    if replied {
        return;
    }
    for process in processes.iter().filter(|process| !process.background) {
        let ended = workspace.signal(chat, &process.id, Signal::Terminate, None);
        if let Err(error) = ended.await {
            tracing::debug!(process = process.id, %error, "failed to end the process of a failed call");
        }
    }
    let Err(error) = result else { return };
    for process in processes.iter().take(NAMED) {
        let what = match process.background {
            true => "it started in the background",
            false => "it started, which is being ended",
        };
        _ = write!(error.message, "; process {}, that {what}", process.id);
        if let Ok(snapshot) = workspace.snapshot(chat, &process.id).await {
            let state = match snapshot.state {
                State::Running => "runs",
                State::Lingering(_) => "has exited, and something that it started runs",
                State::Exited(_) => "has exited",
                State::Lost(_) => "is lost",
            };
            let total = snapshot.total;
            _ = write!(
                error.message,
                ", {state}: its output reaches to cursor {total}"
            );
        }
    }
    if let Some(more) = processes.len().checked_sub(NAMED).filter(|more| *more > 0) {
        _ = write!(error.message, "; and {more} more processes");
    }
}
