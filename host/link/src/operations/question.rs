//! The questions for the operator of an agent, and refusals, before an operation is done.

use std::any::Any;

use axum::http::StatusCode;
use serde_json::{Value, json};
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::operation::{BeginUpload, RemoveFile, Start, Typed, WriteFiles};

use toolhost_agent::ApiError;

/// Returns why the operator does not allow an operation on files; `None` if it is allowed.
pub(super) fn refusal<O: Typed>(files: FilesGrant) -> Option<ApiError> {
    let message = match files {
        FilesGrant::Read if O::WRITES_FILES => {
            "Files may be read here, not written: the agent was started with --files read."
        }
        FilesGrant::None if O::OF_FILES => {
            "This agent offers no files: it was started with --files none."
        }
        FilesGrant::None | FilesGrant::Read | FilesGrant::Write => return None,
    };
    Some(ApiError::new(StatusCode::FORBIDDEN, message))
}

/// Returns the name and the arguments with which the approval hook is asked; `None` if it is not asked.
pub(super) fn of(operation: &dyn Any) -> Option<(&'static str, Value)> {
    if let Some(start) = operation.downcast_ref::<Start>() {
        let command = &start.command;
        let arguments = json!({
            "command": command.command, "workdir": command.workdir, "env": command.env,
            "background": command.background,
        });
        return Some(("processes/start", arguments));
    }
    if let Some(BeginUpload { path, .. }) = operation.downcast_ref() {
        // Its size is not known yet.
        let writes = json!([{ "path": path, "size": null }]);
        return Some(("write-files", json!({ "writes": writes })));
    }
    if let Some(RemoveFile {
        path, recursive, ..
    }) = operation.downcast_ref()
    {
        let arguments = json!({ "path": path, "recursive": recursive });
        return Some(("remove-file", arguments));
    }
    let WriteFiles { writes, removals } = operation.downcast_ref()?;
    let writes = writes
        .iter()
        .map(|write| json!({ "path": write.path, "size": write.data.len() }));
    let writes: Vec<_> = writes.collect();
    let removals: Vec<_> = removals.iter().map(|removal| &removal.path).collect();
    let arguments = match removals.is_empty() {
        true => json!({ "writes": writes }),
        false => json!({ "writes": writes, "removals": removals }),
    };
    Some(("write-files", arguments))
}
