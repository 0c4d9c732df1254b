//! `POST /start`: starts a command.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat::Chat;
use super::error::ApiError;
use super::oversight::Watched;
use super::tool_calls::{Asked, ToolCall};
use super::{RemembersStarts, body, reply};
use toolhost_http::trace;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::Stdin;
use toolhost_workspace::process::{Command, Narrower};

/// The request body.
#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "body::nullable")]
    command: String,
    #[serde(default, deserialize_with = "body::nullable")]
    workdir: String,
    /// Environment variables. They are sorted, so that a repeat with another order is the same command.
    #[serde(default, deserialize_with = "body::nullable")]
    env: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "body::nullable")]
    background: bool,
    /// How long the client intends to wait for the end, in milliseconds.
    #[serde(default, deserialize_with = "body::nullable")]
    timeout_ms: i64,
    /// How to narrow the policy of the workspace for this command.
    #[serde(default, deserialize_with = "body::nullable")]
    sandbox: Narrower,
}

pub(super) async fn start(
    State(workspace): State<Arc<dyn Workspace>>,
    Extension(RemembersStarts(remembers_starts)): Extension<RemembersStarts>,
    chat: Chat,
    call: ToolCall,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    let trace = trace::onward(request.headers())
        .map(|context| context.variables())
        .unwrap_or_default();
    let body: Body = body::read(request).await?;
    if body.command.is_empty() {
        return Err(ApiError::bad_request("Command is required."));
    }
    let timeout = u64::try_from(body.timeout_ms)
        .map_err(|_| ApiError::bad_request("timeout_ms must not be negative."))?;
    if timeout > 0 && body.background {
        let message = "timeout_ms cannot be combined with background.";
        return Err(ApiError::bad_request(message));
    }
    let arguments = json!({
        "command": body.command, "workdir": body.workdir, "env": body.env, "background": body.background,
    });
    let env = body.env.into_iter();
    let command = Command {
        command: body.command,
        workdir: (!body.workdir.is_empty()).then(|| body.workdir.into()),
        env: env
            .map(|(name, value)| (name, value.unwrap_or_default()))
            .collect(),
        background: body.background,
        sandbox: body.sandbox,
        stdin: Stdin::None,
        key: call.id().map(|id| id.as_str().to_owned()),
        trace,
        timeout: (timeout > 0).then(|| Duration::from_millis(timeout)),
    };
    let asked = call.asks(|| Asked {
        route: "start",
        digest: command.digest(),
        // The process has the id of the tool call.
        resumable: remembers_starts,
    });
    call.once(asked, launch(workspace, chat, command, watched, arguments))
        .await
}

/// Starts a command, if it is approved. Every start of this API comes through here.
async fn launch(
    workspace: Arc<dyn Workspace>,
    chat: Chat,
    command: Command,
    watched: Watched,
    arguments: Value,
) -> Result<Response, ApiError> {
    watched.approve("processes/start", &arguments).await?;
    // The process belongs to the workspace, not to the request. So it continues if the client disconnects.
    let workspace = watched.workspace(workspace);
    let started = workspace.start(chat.id.as_ref(), command).await;
    let process = started.map_err(|error| {
        ApiError::of_process(error, "Failed to start process.", "start process")
    })?;
    let started = json!({ "id": process.id, "started": true });
    Ok(reply::json(StatusCode::OK, &started))
}
