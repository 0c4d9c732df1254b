//! Asks the approval hook before a tool runs that may destroy something. The call holds its permits during that, but has no
//! guest yet.

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::deadline::Deadline;
use super::failure::Failure;
use toolhost_call::approval::{Approval, Question, record_refusal};
use toolhost_call::audit::Trail;
use toolhost_call::call::Request;
use toolhost_call::tool::{ErrorKind, Hints, ToolError};

/// Waits until the hook has approved the call, if approval is needed. `tool` is the name that the plugin gave the tool.
///
/// # Errors
///
/// If the hook refuses, if it does not answer, or if the call ends before the answer.
pub(super) async fn approve(
    approval: &Approval,
    cancelled: &CancellationToken,
    trail: &Trail,
    tool: &str,
    hints: Hints,
    request: &Request,
    deadline: &Deadline,
) -> Result<(), ToolError> {
    if !approval.is_needed(hints) {
        return Ok(());
    }
    let broken = |error: serde_json::Error| Failure::Broken(error.to_string());
    let arguments: &RawValue = serde_json::from_str(request.arguments.as_str()).map_err(broken)?;
    let question = Question {
        principal: request.actor.name(),
        chat: Some(request.chat.as_str()),
        call: Some(request.id.as_str()),
        plugin: &trail.plugin,
        tool,
        hints,
        arguments,
    };
    let ended = |failure: Failure| {
        record_refusal(trail, tool, &failure.to_string());
        if let Failure::Limit(reached) = &failure {
            trail.limit(reached.kind);
        }
        failure
    };
    let answer = tokio::select! {
        biased;
        () = cancelled.cancelled() => return Err(ended(Failure::Cancelled).into()),
        () = tokio::time::sleep_until(deadline.at) => return Err(ended(deadline.passed()).into()),
        answer = approval.ask(trail, &question) => answer,
    };
    match answer.refusal() {
        None => Ok(()),
        Some(text) => Err(ToolError::new(ErrorKind::Denied, text)),
    }
}
