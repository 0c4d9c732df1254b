//! The questions for the operator of an agent, and refusals, before an operation is done.

use axum::http::StatusCode;
use serde_json::{Value, json};
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::operation::{BeginUpload, Operation, RemoveFile, WriteFiles};

use toolhost_agent::ApiError;

use super::Kind;

/// Returns why the operator does not allow an operation on files; `None` if it is allowed.
pub(super) fn refusal(kind: Kind, files: FilesGrant) -> Option<ApiError> {
    let message = match files {
        FilesGrant::Read if kind.writes_files => {
            "Files may be read here, not written: the agent was started with --files read."
        }
        FilesGrant::None if kind.of_files => {
            "This agent offers no files: it was started with --files none."
        }
        FilesGrant::None | FilesGrant::Read | FilesGrant::Write => return None,
    };
    Some(ApiError::new(StatusCode::FORBIDDEN, message))
}

/// Returns the name and the arguments with which the approval hook is asked; `None` if it is not asked.
pub(super) fn of(operation: &Operation) -> Option<(&'static str, Value)> {
    Some(match operation {
        Operation::Start(start) => {
            let command = &start.command;
            let arguments = json!({
                "command": command.command, "workdir": command.workdir, "env": command.env,
                "background": command.background,
            });
            ("processes/start", arguments)
        }
        Operation::BeginUpload(BeginUpload { path, .. }) => {
            // Its size is not known yet.
            let writes = json!([{ "path": path, "size": null }]);
            ("write-files", json!({ "writes": writes }))
        }
        Operation::RemoveFile(RemoveFile {
            path, recursive, ..
        }) => {
            let arguments = json!({ "path": path, "recursive": recursive });
            ("remove-file", arguments)
        }
        Operation::WriteFiles(WriteFiles { writes, removals }) => {
            let writes = writes
                .iter()
                .map(|write| json!({ "path": write.path, "size": write.data.len() }));
            let writes: Vec<_> = writes.collect();
            let removals: Vec<_> = removals.iter().map(|removal| &removal.path).collect();
            let arguments = match removals.is_empty() {
                true => json!({ "writes": writes }),
                false => json!({ "writes": writes, "removals": removals }),
            };
            ("write-files", arguments)
        }
        _ => return None,
    })
}
