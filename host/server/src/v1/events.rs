//! `GET /v1/chats/{chat}/events`: the events of a chat, as server-sent events.
//!
//! Nothing is queued for a reader: the server takes each event, and reads the bytes of output, when the connection takes it. A
//! slow reader therefore delays no other, and learns exactly which output it missed.

mod reader;
#[cfg(test)]
mod tests;
mod wire;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::paths::ChatPath;
use crate::visibility::Visibility as _;
use reader::{Reader, Wanted};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::event_stream::{self, last_event};
use toolhost_http::limits::RequestPermit;
use toolhost_http::problem::{Kind, Problem};
use toolhost_state::id::{CallId, ChatId};

/// After how many seconds a refused reader may try again.
pub(super) const TRY_AGAIN: u64 = 5;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(get))
}

/// The query parameters of a reader.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Parameters {
    /// Resumes after the event with this id. The header `Last-Event-ID`, which a client sends when it reconnects, takes
    /// precedence.
    after: Option<String>,
    /// Whether output is among the events; it is unless this is `false`.
    output: Option<bool>,
    /// Restricts the events to those of this call and of the processes that it started.
    #[param(
        min_length = 1,
        max_length = 256,
        pattern = r"^(?!\.{1,2}$)[!-.0-~]+$",
        example = "call_7Qx"
    )]
    call: Option<String>,
}

/// Follows a chat
///
/// Server-sent events of calls, their progress, and processes with their output, from now on. A client that reconnects within
/// 10 minutes with the id of the last event resumes from there. The events `gap` and `reset` name what a reader missed. The
/// stream ends with the chat and with the server.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/events", operation_id = "followChat", tag = "chats",
    params(ChatPath, Parameters, ("last-event-id" = Option<String>, Header, description = "The id of the last event that was read.")),
    responses((status = 200, description = "The events, until the chat or the server ends.", content_type = "text/event-stream", body = wire::Data)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Extension(place): Extension<RequestPermit>,
    Path(chat): Path<String>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Read, &chat)?;
    let call = parameters.call.as_deref().map(CallId::recorded);
    let wanted = Wanted {
        principal,
        output: parameters.output.unwrap_or(true),
        call: call.transpose()?,
    };
    let place = place.reader()?;
    let after = parameters.after.as_deref().filter(|id| !id.is_empty());
    // An invalid id counts as the id of an unknown event.
    let after = last_event(&headers).or(after).map(str::parse);
    let listener = host
        .read_events(&chat, after)
        .await
        .map_err(|refused| Problem::new(Kind::BUSY, refused.to_string()).retry_after(TRY_AGAIN))?;
    let resumed = after.and_then(Result::ok);
    let reader = Reader::new(host, chat, listener, wanted, resumed);
    Ok(event_stream::reply(reader, place))
}
