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
use super::process_id::ProcessId;
use super::{body, reply};
use toolhost_call::audit::Use;
use toolhost_local::process::Registry;
use toolhost_workspace::process::Signal;

/// The longest grace that a client can give.
const MAX_GRACE: Duration = Duration::from_secs(60 * 60);

/// What a client sends.
#[derive(Debug, Default, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "body::nullable")]
    signal: String,
    /// What is left of a terminated process after this time is killed.
    #[serde(default)]
    grace_ms: Option<u64>,
}

pub(super) async fn signal(
    State(registry): State<Arc<Registry>>,
    chat: Chat,
    id: ProcessId,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    // The order of checks is the reference's: a process of another chat first, one that nobody knows last.
    id.refuse_others(&registry, &chat)?;
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
    let process = id.find(&registry, &chat)?;
    let grace = body.grace_ms.map(Duration::from_millis);
    let state = registry
        .signal_process(&process, signal, grace.map(|grace| grace.min(MAX_GRACE)))
        .map_err(|error| {
            let doing = format!("{signal} process");
            ApiError::of_process(error, "Failed to signal process.", &doing)
        })?;
    watched.record(&Use::ProcessSignal {
        process: process.id().to_owned(),
        signal: signal.to_string(),
    });
    // The state that the signal met: what ended until then got none.
    if !state.is_live() {
        let message = format!("Process {} is not running.", quote(process.id()));
        return Err(ApiError::new(StatusCode::CONFLICT, message));
    }
    let message = format!(
        r#"Signal "{signal}" sent to process {}."#,
        quote(process.id())
    );
    Ok(reply::json(StatusCode::OK, &json!({ "message": message })))
}
