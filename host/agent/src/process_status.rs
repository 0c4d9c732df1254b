//! The status of a process, as in every reply about one.

use serde::Serialize;

use toolhost_workspace::process::State;

/// The exit code that stands for none, as in the reference: a signal ended the shell, or the cause is unknown.
const NO_CODE: i32 = -1;

/// The status of a process: the two fields of the reference, and details that they leave open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ProcessStatus {
    /// Whether the shell runs.
    running: bool,
    /// Absent while the shell runs, -1 if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    status: &'static str,
    /// Whether a process outlives the shell.
    lingering: bool,
    /// The name of the signal that ended the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// The cause of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    /// The reason why the end of the process is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<&State> for ProcessStatus {
    fn from(state: &State) -> Self {
        let (status, exit) = match state {
            State::Running => ("running", None),
            State::Lingering(exit) => ("lingering", Some(exit)),
            State::Exited(exit) => ("exited", Some(exit)),
            State::Lost(_) => ("lost", None),
        };
        let running = matches!(state, State::Running);
        let code = exit.and_then(|exit| exit.code).unwrap_or(NO_CODE);
        Self {
            running,
            exit_code: (!running).then_some(code),
            status,
            lingering: matches!(state, State::Lingering(_)),
            signal: exit.and_then(|exit| exit.signal.clone()),
            cause: exit.map(|exit| exit.cause.name()),
            reason: match state {
                State::Lost(why) => Some(why.clone()),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use toolhost_workspace::process::{Cause, ExitStatus};

    #[test]
    fn every_state_has_the_fields_of_the_reference() {
        let killed = ExitStatus {
            code: None,
            signal: Some("SIGKILL".into()),
            cause: Cause::OutOfMemory,
        };
        let exited = ExitStatus {
            code: Some(7),
            signal: None,
            cause: Cause::Itself,
        };
        for (state, expected) in [
            (
                State::Running,
                json!({ "running": true, "status": "running", "lingering": false }),
            ),
            (
                State::Lingering(exited),
                json!({
                    "running": false, "exit_code": 7, "status": "lingering", "lingering": true, "cause": "itself",
                }),
            ),
            (
                State::Exited(killed),
                json!({
                    "running": false, "exit_code": -1, "status": "exited", "lingering": false, "signal": "SIGKILL",
                    "cause": "out_of_memory",
                }),
            ),
            (
                State::Lost("gone".into()),
                json!({
                    "running": false, "exit_code": -1, "status": "lost", "lingering": false, "reason": "gone",
                }),
            ),
        ] {
            assert_eq!(
                serde_json::to_value(ProcessStatus::from(&state)).unwrap(),
                expected
            );
        }
    }
}
