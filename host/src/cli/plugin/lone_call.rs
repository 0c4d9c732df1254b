//! One call of a plugin that no host runs: nobody approves it, cancels it or follows its events.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use toolhost_call::approval::Approval;
use toolhost_call::call::{Actor, Arguments, Outcome, Refused, Request};
use toolhost_call::events::Events;
use toolhost_plugin::outgoing::Answers;
use toolhost_plugin::{Cause, Context, Plugin};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::Workspace;

/// Calls a tool; `answers` stand in for the network, if there are any. Returns the outcome, and the cause if the guest failed.
///
/// # Errors
///
/// If the limits of the plugin or of its engine leave no place for the call, or the machine is short of something.
pub(super) async fn call(
    plugin: &Plugin,
    chat: ChatId,
    tool: &str,
    arguments: Arguments,
    workspace: Arc<dyn Workspace>,
    answers: Option<Arc<Answers>>,
) -> Result<(Outcome, Option<Cause>), Refused> {
    let admitted = plugin.admit(&chat);
    let admitted = admitted.map_err(|busy| Refused::Busy(busy.to_string()))?;
    let request = Arc::new(Request {
        chat,
        id: CallId::random(),
        tool: tool.to_owned(),
        arguments,
        attributes: [("client".into(), "toolhost".into())].into(),
        actor: Actor::default(),
        max_wait: None,
        reach: None,
        workspace: None,
    });
    let context = Context {
        is_resumed: false,
        workspace,
        max_wait: None,
        approval: Approval::default(),
        cancelled: CancellationToken::new(),
        events: Events::default(),
        notices: None,
        sharing: None,
        nested: None,
        answers,
    };
    let (ran, cause) = plugin
        .call_with_cause(admitted, tool, request, context)
        .await;
    Ok((ran?, cause))
}
