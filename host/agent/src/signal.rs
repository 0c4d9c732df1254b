//! `POST /{id}/signal`: sends a signal to everything that a process started.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::chat::Chat;
use super::error::{ApiError, quote};
use super::oversight::Watched;
use super::process_id::{Found, ProcessId};
use super::{body, reply};
use toolhost_workspace::Workspace;
use toolhost_workspace::process::Signal;

/// The longest grace that a client can give.
const MAX_GRACE: Duration = Duration::from_secs(60 * 60);

/// The request body.
#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "body::nullable")]
    signal: String,
    /// The grace after which the rest of a terminated process is killed, in milliseconds.
    #[serde(default)]
    grace_ms: Option<u64>,
}

pub(super) async fn signal(
    State(workspace): State<Arc<dyn Workspace>>,
    chat: Chat,
    id: ProcessId,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    // Check in the reference's order: first whether the process is another chat's, last whether it exists.
    id.refuse_others(&*workspace, &chat).await?;
    let body: Body = body::read(request).await?;
    if body.signal.is_empty() {
        return Err(ApiError::bad_request("Signal is required."));
    }
    let signal: Signal = body.signal.parse().map_err(|_| {
        let name = quote(&body.signal);
        ApiError::bad_request(format!(
            r#"Unsupported signal {name}. Use "kill" or "terminate"."#
        ))
    })?;
    let Found { owner, info } = id.find(&*workspace, &chat).await?;
    let grace = body.grace_ms.map(Duration::from_millis);
    let grace = grace.map(|grace| grace.min(MAX_GRACE));
    let workspace = watched.workspace(workspace);
    let sent = workspace.signal(owner.as_ref(), &info.id, signal, grace);
    let state = sent.await.map_err(|error| {
        let doing = format!("{signal} process");
        ApiError::of_process(error, "Failed to signal process.", &doing)
    })?;
    // `state` is the state at the time of the signal. A process that had ended got no signal.
    if !state.is_live() {
        let message = format!("Process {} is not running.", quote(&info.id));
        return Err(ApiError::new(StatusCode::CONFLICT, message));
    }
    let message = format!(r#"Signal "{signal}" sent to process {}."#, quote(&info.id));
    Ok(reply::json(StatusCode::OK, &json!({ "message": message })))
}
