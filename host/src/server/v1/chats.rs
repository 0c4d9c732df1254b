//! `DELETE /v1/chats/{chat}`: ends everything of a chat.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::host::Host;
use crate::server::access::{Principal, Scope};
use crate::server::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(delete))
}

#[utoipa::path(delete, path = "/v1/chats/{chat}", operation_id = "endChat", tag = "chats", params(("chat" = String, Path)))]
async fn delete(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(chat): Path<String>,
) -> Result<Json<Value>, Problem> {
    let chat = chat.parse()?;
    principal.require_chat(Scope::Call, &chat)?;
    let ended = host.end_chat(&chat).await?;
    let ended: Vec<_> = ended
        .iter()
        .map(|info| json!({ "id": info.id, "command": info.command }))
        .collect();
    Ok(Json(json!({ "ended": ended })))
}
