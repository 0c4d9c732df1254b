//! `DELETE /v1/chats/{chat}`: ends everything of a chat.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::problem::Problem;
use crate::host::Host;

pub(super) async fn delete(
    State(host): State<Host>,
    Path(chat): Path<String>,
) -> Result<Json<Value>, Problem> {
    let ended = host.end_chat(&chat.parse()?).await?;
    let ended: Vec<_> = ended
        .iter()
        .map(|info| json!({ "id": info.id, "command": info.command }))
        .collect();
    Ok(Json(json!({ "ended": ended })))
}
