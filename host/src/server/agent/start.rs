//! `POST /start`: starts a command.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::chat::Chat;
use super::error::ApiError;
use super::{body, reply};
use crate::id::MAX_CALL_ID;
use crate::process::{Command, Registry};
use crate::server::trace;

/// The header that names the call that this start is part of: within its chat, the same name starts one process.
pub(super) const CALL: &str = "coder-tool-call-id";

/// What a client sends.
#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "body::nullable")]
    command: String,
    #[serde(default, deserialize_with = "body::nullable")]
    workdir: String,
    /// Sorted, so that the order in which a client writes them makes no other command of a repeat.
    #[serde(default, deserialize_with = "body::nullable")]
    env: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "body::nullable")]
    background: bool,
}

pub(super) async fn start(
    State(registry): State<Arc<Registry>>,
    chat: Chat,
    request: Request,
) -> Result<Response, ApiError> {
    let key = key(request.headers())?;
    let trace = trace::onward(request.headers())
        .map(|context| context.variables())
        .unwrap_or_default();
    let body: Body = body::read(request).await?;
    if body.command.is_empty() {
        return Err(ApiError::bad_request("Command is required."));
    }
    let env = body.env.into_iter();
    let command = Command {
        command: body.command,
        workdir: (!body.workdir.is_empty()).then(|| body.workdir.into()),
        env: env
            .map(|(name, value)| (name, value.unwrap_or_default()))
            .collect(),
        background: body.background,
        stdin: None,
        key,
        trace,
    };
    // The process belongs to the registry, not to the request: it goes on when the client goes away.
    let started = registry.start(chat.id.as_ref(), command).await;
    let process = started.map_err(|error| {
        ApiError::of_process(error, "Failed to start process.", "start process")
    })?;
    let started = json!({ "id": process.id(), "started": true });
    Ok(reply::json(StatusCode::OK, &started))
}

/// Returns the call that the start is part of. A name that cannot be one is refused: to ignore it would run the command
/// once more with every repeat.
fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(CALL) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    if text.is_empty()
        || text.len() > MAX_CALL_ID
        || !text.bytes().all(|byte| byte.is_ascii_graphic())
    {
        let detail = format!("must be 1 to {MAX_CALL_ID} visible ASCII characters");
        return Err(ApiError::bad_request("The tool call id is not valid.")
            .validation("Coder-Tool-Call-Id", detail));
    }
    Ok(Some(text.to_owned()))
}
