//! `/v1/chats/{chat}/calls`: running tools, looking at calls, and cancelling them.

mod list;
mod listed;
mod request;

use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::paths::{CallPath, ChatPath};
use crate::visibility::Visibility as _;
pub use listed::{ListedCall, ListedState};
use request::{Answer, CallRequest};
use toolhost_call::call::{Actor, CallStatus, Cancelled, Outcome, Refused};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::limits::RequestPermit;
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::time::milliseconds;
use toolhost_state::id::{CallId, ChatId};

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(put, get, delete))
        .routes(routes!(post))
        .merge(list::routes())
}

/// A call that has not ended.
#[derive(Serialize, ToSchema)]
struct RunningCall {
    /// The id of the call.
    id: String,
    /// The tool that was called.
    tool: String,
    #[schema(inline)]
    state: LiveState,
    /// How long ago it began.
    running_ms: u64,
}

/// Always `running`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LiveState {
    Running,
}

/// A call that was cancelled before it arrived. It did not run, and will not.
#[derive(Serialize, ToSchema)]
struct TombstoneCall {
    /// The id of the call.
    id: String,
    #[schema(inline)]
    state: TombstoneState,
    /// Always `true`.
    tombstone: bool,
}

/// Always `cancelled`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TombstoneState {
    Cancelled,
}

/// The state of a call.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Call<'a> {
    Ended(&'a Outcome),
    Running(RunningCall),
    Tombstone(TombstoneCall),
}

/// Calls a tool, or returns its outcome
///
/// The id makes it safe to repeat: a call runs once. Repeats while it runs wait for the same end, and get the same bytes. Later
/// repeats get the saved bytes, for at least an hour. If the connection is lost meanwhile, the call goes on.
///
/// If the tool fails, the reply is no problem document but an outcome with `is_error`.
#[utoipa::path(
    put, path = "/v1/chats/{chat}/calls/{call}", operation_id = "callTool", tag = "calls",
    params(ChatPath, CallPath),
    request_body(content = CallRequest, description = "The tool and its arguments.", example = json!({
        "tool": "execute", "arguments": { "command": "echo hello" }
    })),
    responses((status = 200, description = "The call has ended.", body = Outcome)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "input_mismatch", "cancelled", "gone", "quarantined", "loading", "shutting_down",
        "chat_bound", "no_provider", "unknown_workspace", "unrecorded", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable", "internal"
    ]))),
)]
async fn put(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Extension(place): Extension<RequestPermit>,
    Path((chat, call)): Path<(String, String)>,
    request: HttpRequest,
) -> Result<Response, Problem> {
    let (chat, id): (ChatId, CallId) = (chat.parse()?, call.parse()?);
    principal.require_chat(Scope::Call, &chat)?;
    let call = request::read(request, &chat, &id).await?;
    let _caller = place.caller(&chat, &id)?;
    // Dropped if the client goes away; the call goes on, and a repeat of the request attaches to it.
    let answer = call.run(&host, &principal).await?;
    Ok(outcome_response(answer.outcome()))
}

/// Calls a tool without an id
///
/// Every request runs, also one that is sent again after its answer was lost: prefer an id. The reply has the id that the
/// server gave to the call, and `Location` its address. If the client goes away, the call is cancelled, since no client knows
/// its id.
#[utoipa::path(
    post, path = "/v1/chats/{chat}/calls", operation_id = "runTool", tag = "calls",
    params(ChatPath),
    request_body(content = CallRequest, description = "The tool and its arguments.", example = json!({
        "tool": "execute", "arguments": { "command": "echo hello" }
    })),
    responses((status = 200, description = "The call has ended.", body = Outcome, headers(
        ("location" = String, description = "The address of the call.")
    ))),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "cancelled", "quarantined", "loading", "shutting_down",
        "chat_bound", "no_provider", "unknown_workspace", "unrecorded", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable", "internal"
    ]))),
)]
async fn post(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
    request: HttpRequest,
) -> Result<Response, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat(Scope::Call, &chat)?;
    let id = CallId::random();
    let call = request::read(request, &chat, &id).await?;
    let mut nameless = CancelOnDrop::new(&host, &chat, &id, principal.actor());
    let answer = call.run(&host, &principal).await;
    nameless.call = None;
    let answer = answer?;
    let response = outcome_response(answer.outcome());
    Ok(match answer {
        Answer::Kept(_) => {
            let location = format!("/v1/chats/{chat}/calls/{id}");
            ([(LOCATION, location)], response).into_response()
        }
        // Nothing is at its address.
        Answer::Refused(_) => response,
    })
}

/// Returns the state of a call
///
/// The reply for an ended call is its outcome, with the same bytes that its caller got.
#[utoipa::path(
    get, path = "/v1/chats/{chat}/calls/{call}", operation_id = "getCall", tag = "calls",
    params(ChatPath, CallPath),
    responses((status = 200, description = "The call is known.", body = Call)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "foreign_workspace", "unknown_call", "gone", "unreadable"]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, call)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (chat, id): (ChatId, CallId) = (chat.parse()?, CallId::recorded(&call)?);
    principal.require_chat_of(&host, Scope::Read, &chat)?;
    let status = host.status(&chat, &id).await?;
    let status = status.filter(|status| principal.may_see(status));
    let call = match &status {
        None => return Err(unknown(&id)),
        Some(CallStatus::Gone) => return Err(Refused::Gone.into()),
        Some(CallStatus::Ended(outcome)) => Call::Ended(outcome),
        Some(CallStatus::Live { tool, since }) => Call::Running(RunningCall {
            id: id.to_string(),
            tool: tool.clone(),
            state: LiveState::Running,
            running_ms: milliseconds(Instant::now().saturating_duration_since(*since)),
        }),
        Some(CallStatus::Tombstone { .. }) => Call::Tombstone(TombstoneCall {
            id: id.to_string(),
            state: TombstoneState::Cancelled,
            tombstone: true,
        }),
    };
    Ok(Json(call).into_response())
}

/// Cancels a call, and waits until it has ended
///
/// Processes that the call started in the foreground are ended, with SIGTERM and after 5 s with SIGKILL. Processes that it left
/// in the background are not. The tool has 2 s more to reply with its results so far. No other call runs under this id: later
/// requests to call with it are refused. If the call had already ended, the reply is its outcome. If that is unknown, the processes that
/// the call left in the foreground are ended first.
///
/// A token that is limited to some tools reaches only calls of these tools. For any other id the reply is 204, whether or not
/// the id is in use.
#[utoipa::path(
    delete, path = "/v1/chats/{chat}/calls/{call}", operation_id = "cancelCall", tag = "calls",
    params(ChatPath, CallPath),
    responses(
        (status = 200, description = "The call has ended, perhaps before it was cancelled.", body = Outcome),
        (status = 204, description = "No such call has arrived. When it does, it will not run."),
    ),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "gone", "shutting_down", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable", "internal"
    ]))),
)]
async fn delete(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, call)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (chat, id): (ChatId, CallId) = (chat.parse()?, CallId::recorded(&call)?);
    principal.require_chat_of(&host, Scope::Call, &chat)?;
    match host.cancel(&chat, &id, principal.actor()).await? {
        Cancelled::Tombstone => Ok(StatusCode::NO_CONTENT.into_response()),
        Cancelled::Gone => Err(Refused::Gone.into()),
        Cancelled::Ended(outcome) => Ok(outcome_response(&outcome)),
    }
}

fn outcome_response(outcome: &Outcome) -> Response {
    Json(outcome).into_response()
}

fn unknown(id: &CallId) -> Problem {
    let detail = format!("there is no call {:?} in this chat", id.as_str());
    Problem::new(Kind::UNKNOWN_CALL, detail)
}

/// A call whose id only its waiting request knows. The call is cancelled when that request is dropped.
pub(super) struct CancelOnDrop {
    call: Option<(Host, ChatId, CallId, Actor)>,
}

impl CancelOnDrop {
    pub(super) fn new(host: &Host, chat: &ChatId, id: &CallId, actor: &Actor) -> Self {
        Self {
            call: Some((host.clone(), chat.clone(), id.clone(), actor.clone())),
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some((host, chat, id, actor)), Ok(runtime)) =
            (self.call.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move { host.cancel(&chat, &id, &actor).await });
    }
}
