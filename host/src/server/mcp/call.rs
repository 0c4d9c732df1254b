//! `tools/call`.

use std::collections::BTreeMap;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, MetaObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::caller::{self, Caller};
use super::handler::Handler;
use super::progress::Progress;
use super::tasks::TaskId;
use super::{errors, reply, tasks};
use crate::call::{Arguments, Outcome, Request};
use crate::host::{CallError, Host};

/// After how long a call becomes a task, if its client knows tasks.
///
/// The extension lets the server decide. Most calls end sooner, and a reply is better than a task that has to be asked for;
/// the rest would keep a connection that can break.
const TASK_AFTER: Duration = Duration::from_secs(2);

/// The most that is told to plugins of a client's name.
const MAX_CLIENT: usize = 256;

pub(super) async fn call(
    handler: &Handler,
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let caller = handler.caller(&context)?;
    let host = &handler.host;
    let tool = params.name.into_owned();
    if !caller.principal.may_use(&tool) {
        return Err(unknown_tool(host, &caller, &tool));
    }
    let named = caller::call_id(&context.meta)?;
    let arguments = Value::Object(params.arguments.unwrap_or_default()).to_string();
    let arguments = match Arguments::parse(&arguments) {
        Ok(arguments) => arguments,
        // A model wrote them, so a model should read what is wrong.
        Err(error) => return Ok(reply::refusal("invalid_arguments", None, error).into()),
    };
    let tasks = handler.offers_tasks(&context);
    let request = Request {
        chat: caller.chat.clone(),
        id: named.clone().unwrap_or_else(crate::id::CallId::random),
        tool,
        arguments,
        attributes: attributes(&context),
        // Whoever polls gives up on nothing.
        max_wait: (!tasks).then_some(handler.options.max_wait),
    };
    let (id, begun) = (request.id.clone(), SystemTime::now());
    let mut progress = Progress::of(host, &context, &caller.chat, &id);
    let mut called = Box::pin({
        let (host, request) = (host.clone(), request.clone());
        async move { host.call(request).await }
    });
    let mut lost = pin!(cancelled(caller.lost.clone()));
    let mut too_long = pin!(async {
        match tasks {
            true => tokio::time::sleep(TASK_AFTER).await,
            false => pending().await,
        }
    });
    loop {
        tokio::select! {
            biased;
            outcome = &mut called => return ended(host, &caller, outcome),
            () = &mut lost => {
                // Named calls go on: whoever comes back asks for them by their name.
                if named.is_none() {
                    _ = host.cancel(&request.chat, &id).await;
                }
                return Err(errors::internal("the session has ended"));
            }
            () = context.ct.cancelled() => {
                // Without a session, this is a connection that was lost. In one, the client asked for it.
                if named.is_none() || caller.lost.as_ref().is_some_and(|lost| !lost.is_cancelled()) {
                    _ = host.cancel(&request.chat, &id).await;
                }
                return Err(errors::refused("cancelled", "the request was cancelled"));
            }
            () = &mut too_long => {
                let task = TaskId::new(begun, request.chat.clone(), id.clone());
                if let (Some(lost), None) = (caller.lost.clone(), &named) {
                    end_with(lost, host.clone(), request.clone(), called);
                }
                return Ok(tasks::created(&task, &request.tool));
            }
            () = report(&mut progress) => {}
        }
    }
}

/// Cancels a call that became a task, and that nobody can name, with its session.
fn end_with(
    lost: CancellationToken,
    host: Host,
    request: Request,
    called: impl Future<Output = Result<Arc<Outcome>, CallError>> + Send + 'static,
) {
    tokio::spawn(async move {
        tokio::select! {
            _ = called => {}
            () = lost.cancelled() => {
                _ = host.cancel(&request.chat, &request.id).await;
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
        Ok(outcome) => reply::result(&caller.chat, &outcome),
        Err(CallError::UnknownTool { name, .. }) => return Err(unknown_tool(host, caller, &name)),
        Err(CallError::Refused(refused)) => errors::of_ledger(&refused)?,
    };
    Ok(result.into())
}

/// Says which tools there are for this caller, and nothing of others.
fn unknown_tool(host: &Host, caller: &Caller, name: &str) -> ErrorData {
    let tools = host.tools();
    let known: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let may_use = |name: &&str| caller.principal.may_use(name);
    errors::unknown_tool(name, &known.into_iter().filter(may_use).collect::<Vec<_>>())
}

async fn cancelled(token: Option<CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => pending().await,
    }
}

async fn report(progress: &mut Option<Progress>) {
    match progress {
        Some(progress) => progress.report().await,
        None => pending().await,
    }
}

/// Returns what the client says about itself, which plugins may read.
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
    if let Some(parent) = traceparent(&context.meta) {
        attributes.insert("traceparent".to_owned(), parent.to_owned());
    }
    attributes
}

/// Returns the trace that the call is part of, if what is said is one (W3C Trace Context).
fn traceparent(meta: &MetaObject) -> Option<&str> {
    let text = meta.get_traceparent()?;
    let mut parts = text.split('-');
    let mut hex = |length: usize| {
        let part = parts.next()?;
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (part.len() == length && part.bytes().all(hex)).then_some(part)
    };
    let (version, trace, span, _flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    let is_some = |id: &str| id.bytes().any(|digit| digit != b'0');
    (version == "00" && is_some(trace) && is_some(span) && parts.next().is_none()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_over_only_if_it_is_one() {
        let is_taken = |text: &str| {
            let mut meta = MetaObject::new();
            meta.set_traceparent(text);
            traceparent(&meta).is_some()
        };
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_taken(good));
        for bad in [
            "",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            &format!("{good}-x"),
            &format!("{good}\n"),
        ] {
            assert!(!is_taken(bad), "{bad}");
        }
    }
}
