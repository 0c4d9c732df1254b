//! `POST /tool-calls/{id}/cancel`: later requests under the id are refused, and the processes of the tool call are killed.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tracing::Instrument;

use super::records::{Cancelled, Key};
use super::{Answer, Sender, normalize};
use crate::chat::Chat;
use crate::error::ApiError;
use crate::oversight::Watched;
use crate::reply;
use toolhost_workspace::Workspace;

/// The answer to a cancellation, in the fields of the reference.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    /// Whether a request of the tool call arrived before, as far as is known here.
    received: bool,
    /// The answer that the request got.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// In Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

pub(crate) async fn cancel(
    State(workspace): State<Arc<dyn Workspace>>,
    sender: Sender,
    watched: Watched,
    call: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    // A path that cannot be decoded holds no id either.
    let call = call.map_or_else(|_| String::new(), |Path(call)| call);
    let call = normalize(&call)
        .map_err(|detail| ApiError::bad_request("Invalid tool call ID.").detail(detail))?;
    let key = Key::new(&sender.chat, &call);
    let found = sender.calls.records().cancel(&key, &sender.token);
    // The client may disconnect: the cancelled call ends all the same.
    let end = async move {
        let answer = match &found {
            Ok(Cancelled::NotReceived) | Err(_) => None,
            Ok(Cancelled::Answered(answer)) => Some(answer.clone()),
            Ok(Cancelled::Running(answer)) => {
                let answer = answer.clone().await;
                Some(answer.unwrap_or_else(|_| Answer::unknown()))
            }
        };
        // After the start, so that a process that was still starting is killed as well; and also if nothing is known of the
        // tool call any more, because its process can outlive the record.
        let killed = stop(&*workspace, &sender.chat, &call).await;
        if killed > 0 || found.is_ok() {
            watched.cancelled(&call);
        }
        // The request holds its permit until here.
        drop(sender);
        found.map(|_| Outcome::of(answer))
    };
    let ended = tokio::spawn(end.in_current_span()).await;
    let outcome = ended.map_err(|error| {
        ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Failed to cancel the tool call.",
        )
        .detail(error.to_string())
    })?;
    Ok(reply::json(StatusCode::OK, &outcome?))
}

/// Kills the processes that a tool call started, and waits until they have ended. Returns their number.
async fn stop(workspace: &dyn Workspace, chat: &Chat, call: &str) -> usize {
    let killed = workspace.cancel(chat.id.as_ref(), call).await;
    let killed = killed.unwrap_or_else(|error| {
        tracing::error!(call, %error, "failed to kill the processes of a cancelled tool call");
        0
    });
    if killed > 0 {
        tracing::debug!(
            call,
            killed,
            "killed the processes of a cancelled tool call"
        );
    }
    killed
}

impl Outcome {
    fn of(answer: Option<Answer>) -> Self {
        let Some(answer) = answer else {
            return Self::default();
        };
        let kind = answer.headers.get(CONTENT_TYPE);
        Self {
            received: true,
            status: Some(answer.status.as_u16()),
            content_type: kind.and_then(|kind| Some(kind.to_str().ok()?.to_owned())),
            body: Some(STANDARD.encode(&answer.body)),
        }
    }
}
