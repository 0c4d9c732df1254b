//! The status of a process in replies.

use serde::Serialize;

use toolhost_http::process_values;
use toolhost_workspace::process::State;

/// The status of a process, or a value that contains it. It adds the fields that clients of the reference read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ProcessStatus<T = process_values::ProcessStatus> {
    /// Whether the shell runs.
    running: bool,
    /// Whether a process outlives the shell.
    lingering: bool,
    #[serde(flatten)]
    value: T,
}

impl<T> ProcessStatus<T> {
    /// Adds the fields of a state to a value.
    pub(super) fn new(state: &State, value: T) -> Self {
        Self {
            running: matches!(state, State::Running),
            lingering: matches!(state, State::Lingering(_)),
            value,
        }
    }
}

impl From<&State> for ProcessStatus {
    fn from(state: &State) -> Self {
        Self::new(state, state.into())
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
