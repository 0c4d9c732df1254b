//! The processes of a failed call, which the text of its error names.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::capability::StartedProcess;
use toolhost_call::tool::ToolError;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::State;

/// How many processes a message names.
const NAMED: usize = 8;

/// Appends the processes of a call and their states to the text of its error, because there is no reply that could name them.
pub(super) async fn append_processes(
    workspace: &Arc<dyn Workspace>,
    chat: &ChatId,
    processes: &[StartedProcess],
    error: &mut ToolError,
) {
    for process in processes.iter().take(NAMED) {
        let how = match process.background {
            true => "it started in the background",
            false => "it started",
        };
        _ = write!(error.message, "; process {}, that {how}", process.id);
        if let Ok(snapshot) = workspace.snapshot(Some(chat), &process.id).await {
            let (state, total) = (state(process, &snapshot.state), snapshot.total);
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

/// Returns the state of a process as the end of a sentence. Foreground processes were ended before.
fn state(process: &StartedProcess, state: &State) -> String {
    match state {
        State::Running if process.background => "runs".to_owned(),
        State::Lingering(_) if process.background => {
            "has exited, and something that it started runs".to_owned()
        }
        State::Running | State::Lingering(_) => "could not be ended and still runs".to_owned(),
        State::Exited(exit) => match (&exit.signal, exit.code) {
            (Some(signal), _) => format!("was ended by {signal}"),
            (None, Some(code)) => format!("has exited with code {code}"),
            (None, None) => "has exited".to_owned(),
        },
        State::Lost(_) => "is lost".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_workspace::process::{Cause, ExitStatus};

    #[test]
    fn says_how_each_stands() {
        let exit = |code, signal: Option<&str>| ExitStatus {
            code,
            signal: signal.map(str::to_owned),
            cause: Cause::Signalled,
        };
        let killed = State::Exited(exit(None, Some("SIGKILL")));
        let exited = State::Exited(exit(Some(3), None));
        let lingers = State::Lingering(exit(Some(0), None));
        for (background, stands, says) in [
            (false, &killed, "was ended by SIGKILL"),
            (false, &exited, "has exited with code 3"),
            (false, &lingers, "could not be ended and still runs"),
            (false, &State::Running, "could not be ended and still runs"),
            (true, &State::Running, "runs"),
            (
                true,
                &lingers,
                "has exited, and something that it started runs",
            ),
        ] {
            let id = "p".to_owned();
            assert_eq!(state(&StartedProcess { id, background }, stands), says);
        }
    }
}
