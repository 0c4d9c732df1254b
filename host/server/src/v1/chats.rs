//! `/v1/chats`: which chats there are, and the end of everything of a chat.

use axum::extract::{Path, Query, Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::paths::ChatPath;
use super::{json_body, pages};
use crate::visibility::Visibility as _;
use toolhost_call::call::{Chat, ChatQuery, ChatsAfter};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::process::Info;

/// The largest body, in bytes.
const MAX_BODY: usize = 4 << 10;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(put, delete))
}

/// The query parameters that select chats.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParameters {
    /// Only chats whose names begin like this. A token with a prefix of chats gets its own chats in any case.
    #[param(
        max_length = 128,
        pattern = r"^[A-Za-z0-9._:@-]*$",
        example = "support-"
    )]
    prefix: Option<String>,
    /// The maximum number of returned chats; 50 if this is absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next` of the page before.
    #[param(pattern = r"^[bi]-(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,128}$")]
    after: Option<String>,
}

/// A page of chats.
#[derive(Serialize, ToSchema)]
struct ChatPage {
    /// Chats in which a call runs, then the others, each part by name.
    chats: Vec<ListedChat>,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A chat in a list.
#[derive(Serialize, ToSchema)]
struct ListedChat {
    /// Its name.
    #[schema(examples("support-42"))]
    chat: String,
    /// How many calls of it run.
    running: u64,
    /// The name of the workspace that it belongs to; absent for the one that the server opened at its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(examples("team-a/web"))]
    workspace: Option<String>,
    /// The name of the token that used it first, for tokens without bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// When its last call began, in milliseconds since 1970; absent if no call of it is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_call_at_unix_ms: Option<u64>,
    /// When it was ended, if no call has begun since.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at_unix_ms: Option<u64>,
}

impl ListedChat {
    fn new(chat: Chat, host: &Host, principal: &Principal) -> Self {
        let workspace = host.workspace_of(&chat.chat);
        Self {
            workspace: (!workspace.is_default()).then(|| workspace.to_string()),
            chat: chat.chat.to_string(),
            running: chat.running,
            token: principal.is_unbounded().then_some(chat.principal),
            last_call_at_unix_ms: chat.used_ms,
            ended_at_unix_ms: chat.ended_ms,
        }
    }
}

/// The processes that were ended with a chat.
#[derive(Serialize, ToSchema)]
struct EndedChat {
    /// The processes that were live.
    ended: Vec<EndedProcess>,
    /// The server that the chat was freed from, if there are several: it had the chat, and is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_from: Option<String>,
}

/// A process that was live.
#[derive(Serialize, ToSchema)]
pub(super) struct EndedProcess {
    /// Its id.
    id: String,
    /// Its command.
    command: String,
}

impl From<Info> for EndedProcess {
    fn from(info: Info) -> Self {
        Self {
            id: info.id,
            command: info.command,
        }
    }
}

/// The workspace that a chat belongs to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChatWorkspace {
    /// The name of the workspace, which there must be. `default` is the one that the server opened at its start.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+(/(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+)*$",
        examples("team-a/web")
    )]
    workspace: String,
}

/// Binds a chat to a workspace
///
/// Before its first call: a chat stays in one workspace. Repeating the request is no error. A chat that is bound to none belongs to the
/// workspace that the server opened at its start.
#[utoipa::path(
    put, path = "/v1/chats/{chat}", operation_id = "bindChat", tag = "chats",
    params(ChatPath),
    request_body(content = ChatWorkspace, description = "The workspace."),
    responses((status = 200, description = "The chat belongs to the workspace.", body = ChatWorkspace)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "unknown_workspace", "chat_bound", "unrecorded", "workspace_unavailable",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn put(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
    request: Request,
) -> Result<Json<ChatWorkspace>, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat(Scope::Call, &chat)?;
    let asked: Option<ChatWorkspace> = json_body::read(request, MAX_BODY).await?;
    let missing = || Problem::broken_request("the body must be a JSON object with `workspace`");
    let workspace: WorkspaceName = asked.ok_or_else(missing)?.workspace.parse()?;
    host.bind_chat(&chat, &workspace, principal.actor()).await?;
    Ok(Json(ChatWorkspace {
        workspace: workspace.to_string(),
    }))
}

/// Lists the chats
///
/// In pages: the chats of which a call or a cancellation is remembered, and those in which a call runs.
#[utoipa::path(
    get, path = "/v1/chats", operation_id = "listChats", tag = "chats",
    params(ListParameters),
    responses((status = 200, description = "A page of chats.", body = ChatPage)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "bounded_token", "unreadable"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Query(parameters): Query<ListParameters>,
) -> Result<Json<ChatPage>, Problem> {
    // The list names a chat because of its calls, which may be of every tool.
    principal.require_all_tools(Scope::Read)?;
    let after = parameters.after.as_deref().map(place);
    let query = ChatQuery {
        prefix: principal.chats_of(pages::prefix(parameters.prefix.as_deref())?)?,
        after: after.transpose()?,
        limit: pages::limit(parameters.limit)?,
        ..ChatQuery::default()
    };
    let page = host
        .chats(query, principal.actor())
        .await
        .map_err(|error| pages::unreadable(&error))?;
    let next = page.next.map(|next| {
        let part = if next.busy { "b" } else { "i" };
        format!("{part}-{}", next.chat)
    });
    let chats = page.chats.into_iter();
    Ok(Json(ChatPage {
        chats: chats
            .map(|chat| ListedChat::new(chat, &host, &principal))
            .collect(),
        next,
    }))
}

/// Reads a place in the list of chats.
fn place(text: &str) -> Result<ChatsAfter, Problem> {
    let (part, chat) = text.split_once('-').ok_or_else(pages::wrong_place)?;
    let busy = match part {
        "b" => true,
        "i" => false,
        _ => return Err(pages::wrong_place()),
    };
    let chat = chat.parse().map_err(|_| pages::wrong_place())?;
    Ok(ChatsAfter { busy, chat })
}

/// Ends every process of a chat
///
/// For when a conversation is over. Its outcomes are still kept for clients that repeat a call. A token that is limited to some
/// tools ends only the calls of these tools and what they started; the rest of the chat goes on.
///
/// If the chat ran in the default workspace of another server that has lost its lease, the chat is freed from it: its next call decides
/// where it runs.
#[utoipa::path(
    delete, path = "/v1/chats/{chat}", operation_id = "endChat", tag = "chats",
    params(ChatPath),
    responses((status = 200, description = "Nothing of the chat runs.", body = EndedChat)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_chat", "foreign_workspace", "workspace_unavailable", "unrecorded",
        "other_host", "host_lost", "host_unreachable", "unreadable"
    ]))),
)]
async fn delete(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
) -> Result<Json<EndedChat>, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat_of(&host, Scope::Call, &chat)?;
    let freed_from = host.free_chat(&chat, principal.actor()).await?;
    let ended = host.end_chat(&chat, principal.actor()).await?;
    let ended = ended.into_iter().map(EndedProcess::from);
    Ok(Json(EndedChat {
        ended: ended.collect(),
        freed_from,
    }))
}
