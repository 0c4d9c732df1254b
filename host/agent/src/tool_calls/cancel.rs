//! `POST /tool-calls/{id}/cancel`: later requests under the id are refused, and the processes of the tool call are killed.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tracing::Instrument;

use super::{Answer, Sender, normalize};
use crate::chat::Chat;
use crate::error::ApiError;
use crate::oversight::Watched;
use crate::reply;
use toolhost_call::call::{Cancelled, Refused};
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
    let call = normalize(&call).map_err(|invalid| {
        ApiError::bad_request("Invalid tool call ID.").detail(invalid.to_string())
    })?;
    // The client may disconnect: the cancelled call ends all the same.
    let end = async move {
        let (chat, actor) = (sender.chat_id(), &sender.actor);
        let found = sender.ledger.cancel(&chat, &call, actor).await;
        // After the start, so that a process that was still starting is killed as well; and also if nothing is known of the
        // tool call any more, because its process can outlive the record.
        let killed = stop(&*workspace, &sender.chat, call.as_str()).await;
        if killed > 0 || found.is_ok() {
            watched.cancelled(call.as_str());
        }
        // The request holds its permit until here.
        drop(sender);
        found
    };
    let ended = tokio::spawn(end.in_current_span()).await;
    let outcome = ended.map_err(|error| {
        ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Failed to cancel the tool call.",
        )
        .detail(error.to_string())
    })?;
    let answer = match outcome {
        Ok(Cancelled::Ended(outcome)) => Some(Answer::kept(&outcome)),
        Ok(Cancelled::Gone) => Some(Answer::gone()),
        Ok(Cancelled::Tombstone) => None,
        Err(Refused::Busy(detail)) => {
            let message = "Too many tool calls were canceled that have not arrived.";
            let refused = ApiError::new(StatusCode::TOO_MANY_REQUESTS, message);
            return Err(refused.detail(detail));
        }
        Err(refused) => return Err(ApiError::unavailable(refused.to_string())),
    };
    Ok(reply::json(StatusCode::OK, &Outcome::of(answer)))
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
        Self {
            received: true,
            status: Some(answer.status),
            content_type: answer.content_type().map(str::to_owned),
            body: Some(STANDARD.encode(&answer.body)),
        }
    }
}
