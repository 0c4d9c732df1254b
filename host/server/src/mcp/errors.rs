//! Errors of the protocol. The data of each carries a code for programs, the same that the problem documents of HTTP have.
//!
//! Clients hide protocol errors from the model, and show it results. So an error that a model could act on is a result instead.

use std::fmt::Display;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ErrorCode};
use serde_json::{Value, json};

use super::reply;
use crate::unknown;
use toolhost_call::call::{Refused, WorkspaceError};
use toolhost_core::Host;
use toolhost_http::access::Principal;
use toolhost_http::problem::Problem;
use toolhost_workspace::process;

/// An error of a request that makes no sense.
pub(super) fn broken(message: impl Display) -> ErrorData {
    refused("broken_request", message)
}

/// An error of a request that is not let through.
pub(super) fn refused(word: &str, message: impl Display) -> ErrorData {
    error(ErrorCode::INVALID_PARAMS, word, message)
}

/// An error that is no fault of the client.
pub(super) fn internal(message: impl Display) -> ErrorData {
    error(ErrorCode::INTERNAL_ERROR, "internal", message)
}

/// Returns the result for a tool that does not exist or that the token may not use. The client cannot tell the two apart. It is no error
/// of the protocol: the model made the name up, and reads here which tools there are.
pub(super) fn unknown_tool(host: &Host, principal: &Principal, name: &str) -> CallToolResult {
    reply::refusal("unknown_tool", None, unknown::tool(host, principal, name))
}

/// Returns the error for a task that does not exist or that the token may not see.
pub(super) fn unknown_task() -> ErrorData {
    refused("unknown_task", "there is no such task")
}

/// Returns the error for a resource that does not exist or that the token may not see.
pub(super) fn unknown_resource(uri: &str) -> ErrorData {
    let data = json!({ "code": "not_found", "uri": uri });
    tracing::debug!(code = "not_found", "a request over MCP gets an error");
    ErrorData::resource_not_found("there is no such resource", Some(data))
}

/// Returns the error for a failed operation of the tools' workspace.
pub(super) fn of_workspace(problem: &process::Error) -> ErrorData {
    let word = match problem {
        process::Error::Failed(_) => "internal",
        process::Error::Closed => "shutting_down",
        _ => "workspace_unavailable",
    };
    error(ErrorCode::INTERNAL_ERROR, word, problem)
}

/// Returns the error for a refusal of the ledger when the request is no call.
pub(super) fn not_now(refused: &Refused) -> ErrorData {
    error(ErrorCode::INTERNAL_ERROR, word(refused), refused)
}

/// Converts a refusal of the ledger: to a result for the model where a retry may work, or else to an error.
pub(super) fn of_ledger(refused: &Refused) -> Result<CallToolResult, ErrorData> {
    let word = word(refused);
    match refused {
        Refused::Busy(_)
        | Refused::Loading(_)
        | Refused::Quarantined { .. }
        | Refused::Unrecorded(_)
        | Refused::Unreadable(_) => Ok(reply::refusal(word, refused.retry_after(), refused)),
        Refused::Workspace(error) => of_chat(error.clone()),
        Refused::Closed => Err(error(ErrorCode::INTERNAL_ERROR, word, refused)),
        _ => Err(error(ErrorCode::INVALID_REQUEST, word, refused)),
    }
}

/// Returns the error for a chat without a workspace when the request is no call of a tool.
pub(super) fn without_workspace(reason: WorkspaceError) -> ErrorData {
    let problem = Problem::from(reason);
    refused(problem.code(), problem.detail())
}

/// Converts the reason why a chat has no workspace: to a result for the model where a retry may work, or else to an error.
pub(super) fn of_chat(reason: WorkspaceError) -> Result<CallToolResult, ErrorData> {
    let problem = Problem::from(reason);
    match problem.seconds() {
        Some(after) => Ok(reply::refusal(
            problem.code(),
            Some(after),
            problem.detail(),
        )),
        None => Err(refused(problem.code(), problem.detail())),
    }
}

/// Returns the code for a refusal.
fn word(refused: &Refused) -> &'static str {
    match refused {
        Refused::InputMismatch => "input_mismatch",
        Refused::Cancelled => "cancelled",
        Refused::Gone => "gone",
        Refused::Busy(_) => "busy",
        Refused::Quarantined { .. } => "quarantined",
        Refused::Loading(_) => "loading",
        Refused::Unrecorded(_) => "unrecorded",
        Refused::Unreadable(_) => "unreadable",
        Refused::Workspace(_) => "workspace_unavailable",
        Refused::Closed => "shutting_down",
    }
}

pub(super) fn error(code: ErrorCode, word: &str, message: impl Display) -> ErrorData {
    // By default this is the only log line about the error. It leaves out the message, which may contain text of a tool or a
    // client. The log lines of `rmcp`, off by default, have the message at any length.
    tracing::debug!(code = word, "a request over MCP gets an error");
    ErrorData::new(code, message.to_string(), Some(json!({ "code": word })))
}

/// Returns an error response for a message whose id may not be known.
pub(super) fn response(id: &Value, code: ErrorCode, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_work_later_is_a_result_and_the_rest_an_error() {
        let busy = of_ledger(&Refused::Busy("too many calls".into())).unwrap();
        assert_eq!(busy.is_error, Some(true));
        let meta = busy.meta.unwrap();
        assert_eq!(meta["io.toolhost/error"], "busy");
        assert_eq!(meta["io.toolhost/retryAfter"], 1);
        for (refused, word) in [
            (Refused::InputMismatch, "input_mismatch"),
            (Refused::Cancelled, "cancelled"),
            (Refused::Gone, "gone"),
            (Refused::Closed, "shutting_down"),
        ] {
            let error = of_ledger(&refused).unwrap_err();
            assert_eq!(error.data.unwrap()["code"], word);
        }
    }
}
