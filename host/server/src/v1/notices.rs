//! `/v1/chats/{chat}/notices`: what chats want to be told of their processes.

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::events::TRY_AGAIN;
use super::pages::within;
use super::paths::{ChatPath, ProcessPath};
use super::processes::{MAX_CURSOR, asked, problem};
use crate::visibility::Visibility as _;
use toolhost_call::notice::Trigger;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::notice_values::Notice;
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::whole;
use toolhost_state::id::ChatId;
use toolhost_workspace::process;

/// The largest body, in bytes.
const MAX_BODY: usize = 64 << 10;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(ask))
        .routes(routes!(list))
        .routes(routes!(forget))
}

/// The part after the chat in the address of a notice.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it is there for its description only")]
struct NoticePath {
    /// The notice, as replies, events and lists name it.
    #[param(min_length = 1, example = "notice_5f0e3c8d9b1a47f6a2c4d8e0b3f19a7c")]
    notice: String,
}

/// An event of a process of which a chat wants to be told.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "on", rename_all = "snake_case", deny_unknown_fields)]
enum NoticeRequest {
    /// The process ends.
    Exit,
    /// Its output matches, or it ends before.
    Output {
        /// A regular expression, with the syntax of the Rust crate `regex` over bytes.
        pattern: String,
        /// The cursor from which the output is searched; 0 if this is absent.
        #[serde(default, deserialize_with = "whole::read")]
        #[schema(minimum = 0, maximum = 9007199254740991_u64)]
        since: u64,
    },
}

/// The notices of a chat.
#[derive(Serialize, ToSchema)]
struct NoticeList {
    /// Those that the chat waits for, and at most 128 others of the last day, in the order in which they were asked for.
    notices: Vec<Notice>,
}

/// A notice that was asked for.
#[derive(Serialize, ToSchema)]
struct AskedNotice {
    /// The id of the notice.
    id: String,
}

/// Asks for a notice
///
/// The chat is told once of the event: in its events, in the list of its notices, and at the webhook of the token if the operator set one
/// up. An event that has happened already is told at once.
#[utoipa::path(
    post, path = "/v1/chats/{chat}/processes/{process}/notices", operation_id = "askNotice", tag = "processes",
    params(ChatPath, ProcessPath),
    request_body = NoticeRequest,
    responses((status = 201, description = "The notice.", body = AskedNotice)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "unknown_process", "busy", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn ask(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, process)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Call, &chat)?;
    let trigger = match asked(request, MAX_BODY).await? {
        NoticeRequest::Exit => Trigger::Exit,
        NoticeRequest::Output { pattern, since } => Trigger::Output {
            pattern,
            since: within("since", since, 0..=MAX_CURSOR)?,
        },
    };
    let asking = host.ask_notice(&chat, &process, trigger, principal.actor());
    let id = asking.await.map_err(|error| match error {
        process::Error::Limit(text) => Problem::new(Kind::BUSY, text).retry_after(TRY_AGAIN),
        error => problem(error),
    })?;
    Ok((StatusCode::CREATED, Json(AskedNotice { id })).into_response())
}

/// Lists the notices of a chat
#[utoipa::path(
    get, path = "/v1/chats/{chat}/notices", operation_id = "listNotices", tag = "processes",
    params(ChatPath),
    responses((status = 200, description = "The notices.", body = NoticeList)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
) -> Result<Json<NoticeList>, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Read, &chat)?;
    let notices = host.notices(&chat, principal.actor()).await;
    let notices = notices.iter().map(|notice| Notice::from(&**notice));
    Ok(Json(NoticeList {
        notices: notices.collect(),
    }))
}

/// Forgets a notice
///
/// Nothing is told and nothing is sent of it any more.
#[utoipa::path(
    delete, path = "/v1/chats/{chat}/notices/{notice}", operation_id = "forgetNotice", tag = "processes",
    params(ChatPath, NoticePath),
    responses((status = 204, description = "The notice is forgotten.")),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "unknown_notice", "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn forget(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path((chat, notice)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Call, &chat)?;
    match host.forget_notice(&chat, &notice, principal.actor()).await {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => {
            let detail = format!("there is no notice {notice:?} in this chat");
            Err(Problem::new(Kind::UNKNOWN_NOTICE, detail))
        }
        Err(error) => Err(Problem::new(Kind::INTERNAL, error.to_string())),
    }
}
