//! Tool calls: each call runs once, a repeated request gets the first answer, and a cancelled call runs no further.
//!
//! A client names the tool call of a request in `Coder-Tool-Call-Id`. Every start, edit and write goes through
//! [`ToolCall::once`], which runs it as a call of the ledger.

mod answer;
mod cancel;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Extension;
use axum::extract::FromRequestParts;
use axum::extract::rejection::ExtensionRejection;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use serde_json::json;
use tracing::Instrument;

use super::chat::Chat;
use super::error::ApiError;
use super::oversight::INTERFACE;
use super::tool_call_id::{HEADER, normalize};
use answer::Answer;
pub(super) use cancel::cancel;
use toolhost_call::call::{Actor, Admitted, Arguments, Begun, Ledger, Refused, Request};
use toolhost_http::access::Principal;
use toolhost_http::limits::RequestPermit;
use toolhost_state::id::{CallId, ChatId};

/// The prefix of the path of a cancellation.
const CANCEL: &str = "/api/v0/tool-calls/";

/// The sender of a request, as far as tool calls are concerned.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    ledger: Ledger,
    chat: Chat,
    actor: Actor,
    /// The permit of the request. Work that outlives the connection keeps it.
    permit: Option<RequestPermit>,
}

/// The tool call that a request is part of, if it is part of one.
#[derive(Clone, Debug)]
pub struct ToolCall {
    sender: Sender,
    id: Option<CallId>,
}

/// The content of a request, by which a repeat is told from another request under the same id.
#[derive(Debug)]
pub struct Asked {
    /// The name of the route.
    pub route: &'static str,
    /// The digest of the content.
    pub digest: blake3::Hash,
    /// Whether the request may run again if the server was killed while it ran, because its effects are then found and not repeated.
    pub resumable: bool,
}

impl Asked {
    /// Makes it of a request that runs once at most.
    pub fn once(route: &'static str, digest: blake3::Hash) -> Self {
        Self {
            route,
            digest,
            resumable: false,
        }
    }
}

impl ToolCall {
    /// Returns the id.
    pub fn id(&self) -> Option<&CallId> {
        self.id.as_ref()
    }

    /// Returns the content of a request, or `None` if the request names no tool call: then no content is digested.
    pub fn asks(&self, asked: impl FnOnce() -> Asked) -> Option<Asked> {
        self.id.is_some().then(asked)
    }

    /// Runs `act`, unless an earlier request of the same tool call has run it. In that case, waits for the answer to that
    /// request and returns it. `act` runs to its end even if the client disconnects.
    ///
    /// `asked` is from [`ToolCall::asks`].
    ///
    /// # Errors
    ///
    /// That of `act`, and if the tool call was cancelled, was used for another request, or cannot be recorded.
    pub async fn once<F>(self, asked: Option<Asked>, act: F) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { sender, id } = self;
        let act = act.in_current_span();
        match id.zip(asked) {
            None => {
                // Run in a task of its own: if the client disconnects, the act still finishes and is recorded in the audit trail.
                let act = async move {
                    let result = act.await;
                    drop(sender);
                    result
                };
                let acted = tokio::spawn(act).await;
                acted.unwrap_or_else(|_| Ok(Answer::unknown().into_response()))
            }
            Some((id, asked)) => {
                let answer = match sender.answer(&id, asked, act).await {
                    Ok(answer) => answer,
                    Err(refused) => Answer::refusal(refused, &id)?,
                };
                Ok(answer.into_response())
            }
        }
    }
}

impl Sender {
    /// Returns the answer to a request of a tool call. If it is the first one, `act` makes it.
    async fn answer<F>(self, id: &CallId, asked: Asked, act: F) -> Result<Answer, Refused>
    where
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let tool = format!("{INTERFACE}/{}", asked.route);
        let arguments = json!({ "request": asked.digest.to_hex().as_str() }).to_string();
        let arguments = Arguments::parse(&arguments);
        let arguments = arguments.map_err(|error| Refused::Unrecorded(error.to_string()))?;
        let request = Request {
            actor: self.actor.clone(),
            ..Request::new(self.chat_id(), id.clone(), tool.clone(), arguments)
        };
        let request = Arc::new(request);
        let mut act = Some((act, self.permit));
        loop {
            let known = match self.ledger.begin(&request).await? {
                Begun::Known(known) => known,
                Begun::New(permit) => {
                    let Some((act, held)) = act.take() else {
                        let text = "another host began it at the same time, and did not run it";
                        return Err(Refused::Unrecorded(text.to_owned()));
                    };
                    let (id, tool) = (id.clone(), tool.clone());
                    let execution = async move {
                        let answer = match AssertUnwindSafe(act).catch_unwind().await {
                            Ok(result) => Answer::of(result.into_response()).await,
                            Err(_) => Answer::unknown(),
                        };
                        drop(held);
                        answer.outcome(id, &tool)
                    };
                    permit.run(Admitted {
                        execution,
                        read_only: false,
                        resumable: asked.resumable,
                    })?
                }
            };
            if let Some(outcome) = known.outcome().await? {
                return Ok(Answer::kept(&outcome));
            }
        }
    }

    /// Returns the chat under which the ledger has the tool calls of the sender.
    fn chat_id(&self) -> ChatId {
        self.chat.id.clone().unwrap_or_else(ChatId::of_agent_api)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ExtensionRejection> {
        let Extension(ledger) = Extension::from_request_parts(parts, state).await?;
        let extensions = &parts.extensions;
        let principal = extensions.get::<Principal>();
        Ok(Self {
            ledger,
            chat: Chat::of(&parts.headers),
            actor: principal.map_or_else(Actor::default, |principal| Actor::new(principal.name())),
            permit: extensions.get::<RequestPermit>().cloned(),
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ToolCall {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let id = parts.headers.get(HEADER).map(|value| {
            // An invalid id is refused. If it were ignored, every repeat would act again.
            normalize(value.to_str().unwrap_or_default()).map_err(|invalid| {
                ApiError::bad_request("The tool call id is not valid.")
                    .validation("Coder-Tool-Call-Id", invalid.to_string())
            })
        });
        let id = id.transpose().map_err(IntoResponse::into_response)?;
        let sender = Sender::from_request_parts(parts, state).await;
        let sender = sender.map_err(IntoResponse::into_response)?;
        Ok(Self { sender, id })
    }
}

/// Digests the content of a request.
pub fn digest(parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

/// Returns whether this is the path of a cancellation, which frees permits that other requests need.
pub(super) fn is_cancellation(path: &str) -> bool {
    path.starts_with(CANCEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_parts_apart() {
        let all = [
            digest(&[b"b", b"c"]),
            digest(&[b"bc"]),
            digest(&[b"b", b"c", b""]),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
