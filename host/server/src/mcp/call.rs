//! `tools/call`.

use std::collections::BTreeMap;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::request::Parts;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::caller::{self, Caller};
use super::message::Written;
use super::progress::Progress;
use super::tasks::TaskId;
use super::{errors, reply, tasks};
use toolhost_call::call::{Actor, Arguments, Outcome, Request};
use toolhost_call::trace::TraceContext;
use toolhost_core::{CallError, Host};
use toolhost_http::limits::{self, NoRoom, RequestPermit};
use toolhost_http::trace;
use toolhost_state::id::{CallId, ChatId};

/// After how long a call becomes a task, if its client knows tasks.
///
/// The extension lets the server decide. Most calls end sooner, and a reply is better than a task that has to be asked for;
/// the rest would keep a connection that can break.
const TASK_AFTER: Duration = Duration::from_secs(2);

/// The maximum length in characters of the client's name and version, as plugins see them.
const MAX_CLIENT: usize = 256;

/// Calls a tool for this caller. No wait of the tool takes longer than `longest`, unless its client polls a task.
pub(super) async fn call(
    host: &Host,
    caller: Caller,
    longest: Duration,
    params: CallToolRequestParams,
    mut context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let tool = params.name.into_owned();
    if !caller.principal.may_use(&tool) {
        return Ok(errors::unknown_tool(host, &caller.principal, &tool).into());
    }
    let named = caller::call_id(&context.meta)?;
    if named.is_some() && caller.reach.is_some() {
        let message =
            "a call has its name within a chat: name that as well, in the header Toolhost-Chat";
        return Err(errors::broken(message));
    }
    // `rmcp` drops duplicate keys and the digits of large numbers, so the call takes the original text.
    drop(params.arguments);
    let written = Written::take(&mut context.extensions);
    let arguments = match Arguments::parse(written.as_deref().unwrap_or("{}")) {
        Ok(arguments) => arguments,
        // A model wrote the arguments, so the error is a result that the model reads.
        Err(error) => return Ok(reply::refusal("invalid_arguments", None, error).into()),
    };
    drop(written);
    let _waiting = match waits(&context, &caller.chat, named.as_ref()) {
        Ok(waiting) => waiting,
        Err(error) => return Ok(reply::refusal("busy", Some(1), error).into()),
    };
    let capabilities = context.client_capabilities();
    let tasks = capabilities.is_some_and(|capabilities| capabilities.supports_tasks());
    let request = Request {
        chat: caller.chat.clone(),
        id: named.clone().unwrap_or_else(CallId::random),
        tool: tool.clone(),
        arguments,
        attributes: attributes(&context),
        actor: caller.principal.actor().clone(),
        // A client that polls a task does not give up on the call, so the tool's waits are not limited.
        max_wait: (!tasks).then_some(longest),
        reach: caller.reach.clone(),
        workspace: caller.workspace.clone(),
    };
    let (chat, id, begun) = (caller.chat.clone(), request.id.clone(), SystemTime::now());
    let actor = caller.principal.actor();
    let mut progress = Progress::of(host, &context, &caller.chat, &id);
    let mut called = Box::pin({
        let host = host.clone();
        async move { host.call(request).await }.instrument(request_span(&context))
    });
    let lost = caller.lost.clone().unwrap_or_default();
    let mut too_long = pin!(tokio::time::sleep(TASK_AFTER));
    loop {
        tokio::select! {
            biased;
            outcome = &mut called => {
                if let Some(progress) = &mut progress {
                    // Progress comes before the reply, or not at all.
                    let told = progress.finish();
                    _ = context.ct.run_until_cancelled(told).await;
                }
                return ended(host, &caller, outcome);
            }
            () = lost.cancelled() => {
                // Named calls go on: a client that comes back asks for them by their id.
                if named.is_none() {
                    _ = host.cancel(&chat, &id, actor).await;
                }
                return Err(errors::internal("the session has ended"));
            }
            () = context.ct.cancelled() => {
                // Without a session, the cancellation means a lost connection. In a session, the client asked for it.
                if named.is_none() || caller.lost.as_ref().is_some_and(|lost| !lost.is_cancelled()) {
                    _ = host.cancel(&chat, &id, actor).await;
                }
                return Err(errors::refused("cancelled", "the request was cancelled"));
            }
            () = &mut too_long, if tasks => {
                let task = TaskId::new(begun, chat.clone(), id.clone());
                if let (Some(lost), None) = (caller.lost.clone(), &named) {
                    end_with(lost, host.clone(), (chat, id, actor.clone()), called);
                }
                return Ok(tasks::created(&task, &tool));
            }
            report = async {
                match &mut progress {
                    Some(progress) => progress.report().await,
                    None => pending().await,
                }
            } => {
                if let Some(progress) = &progress {
                    _ = context.ct.run_until_cancelled(progress.send(report)).await;
                }
            }
        }
    }
}

/// Cancels a call without a client-given id that became a task, when its session ends.
fn end_with(
    lost: CancellationToken,
    host: Host,
    (chat, id, actor): (ChatId, CallId, Actor),
    called: impl Future<Output = Result<Arc<Outcome>, CallError>> + Send + 'static,
) {
    tokio::spawn(async move {
        tokio::select! {
            _ = called => {}
            () = lost.cancelled() => {
                _ = host.cancel(&chat, &id, &actor).await;
            }
        }
    });
}

fn ended(
    host: &Host,
    caller: &Caller,
    outcome: Result<Arc<Outcome>, CallError>,
) -> Result<CallToolResponse, ErrorData> {
    let result: CallToolResult = match outcome {
        Ok(outcome) => reply::result(&caller.chat, &outcome, caller.structured),
        Err(CallError::UnknownTool { name, .. }) => {
            errors::unknown_tool(host, &caller.principal, &name)
        }
        Err(CallError::Refused(refused)) => errors::of_ledger(&refused)?,
        Err(CallError::Workspace(error)) => errors::of_chat(error)?,
    };
    Ok(result.into())
}

/// Counts one more request that waits for a call. A call without a client-given id has only one such request and is not
/// counted.
fn waits(
    context: &RequestContext<RoleServer>,
    chat: &ChatId,
    named: Option<&CallId>,
) -> Result<Option<limits::Caller>, NoRoom> {
    let place = caller::http_extension::<RequestPermit>(&context.extensions);
    let (Some(place), Some(call)) = (place, named) else {
        return Ok(None);
    };
    place.caller(chat, call).map(Some)
}

/// Returns the attributes of the client, which plugins may read.
fn attributes(context: &RequestContext<RoleServer>) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    if let Some(client) = context.client_info() {
        let plain = |text: &str| -> String {
            let visible = text.chars().filter(|c| !c.is_control());
            visible.take(MAX_CLIENT).collect()
        };
        attributes.insert("client".to_owned(), plain(&client.name));
        attributes.insert("client-version".to_owned(), plain(&client.version));
    }
    if let Some(traced) = trace_of(context) {
        traced.set(&mut attributes);
    }
    attributes
}

/// Returns the trace that the call is part of: from the message, or else from the headers of its HTTP request.
fn trace_of(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
    let meta = &context.meta;
    let said = meta.get_traceparent();
    let said = said.and_then(|parent| TraceContext::parse(parent, meta.get_tracestate()));
    let sent = || trace::of_headers(&context.extensions.get::<Parts>()?.headers);
    toolhost_call::trace::onward(said.or_else(sent))
}

/// Returns the span of the HTTP request that carried the message; none, if the message came another way.
fn request_span(context: &RequestContext<RoleServer>) -> tracing::Span {
    let within = caller::http_extension::<trace::Within>(&context.extensions);
    within.map_or_else(tracing::Span::none, |within| within.0.clone())
}
