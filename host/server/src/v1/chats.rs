//! `DELETE /v1/chats/{chat}`: ends everything of a chat.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::paths::ChatPath;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::id::ChatId;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(delete))
}

/// The processes that were ended with a chat.
#[derive(Serialize, ToSchema)]
struct EndedChat {
    /// The processes that were live.
    ended: Vec<EndedProcess>,
}

/// A process that was live.
#[derive(Serialize, ToSchema)]
struct EndedProcess {
    /// Its id.
    id: String,
    /// Its command.
    command: String,
}

/// Ends every process of a chat
///
/// For when a conversation is over. Its outcomes are still kept for clients that repeat a call. A token that is limited to some
/// tools ends only the calls of these tools and what they started; the rest of the chat goes on.
#[utoipa::path(
    delete, path = "/v1/chats/{chat}", operation_id = "endChat", tag = "chats",
    params(ChatPath),
    responses((status = 200, description = "Nothing of the chat runs.", body = EndedChat)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_chat", "workspace_unavailable"]))),
)]
async fn delete(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
) -> Result<Json<EndedChat>, Problem> {
    let chat: ChatId = chat.parse()?;
    principal.require_chat(Scope::Call, &chat)?;
    let ended = host.end_chat(&chat, principal.actor()).await?;
    let ended = ended.into_iter().map(|info| EndedProcess {
        id: info.id,
        command: info.command,
    });
    Ok(Json(EndedChat {
        ended: ended.collect(),
    }))
}
