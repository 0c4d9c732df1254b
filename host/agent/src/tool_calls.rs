//! Tool calls: each call runs once, a repeated request gets the first answer, and a cancelled call runs no further.
//!
//! A client names the tool call of a request in `Coder-Tool-Call-Id`. Every start, edit and write goes through
//! [`ToolCall::once`].

mod cancel;
mod records;

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tracing::Instrument;

use super::chat::Chat;
use super::error::ApiError;
use super::reply;
use super::tool_call_id::{HEADER, normalize};
pub(super) use cancel::cancel;
use records::{Begun, Key, Records};
use toolhost_http::access::Principal;
use toolhost_http::limits::RequestPermit;

/// The prefix of the path of a cancellation.
const CANCEL: &str = "/api/v0/tool-calls/";

/// The tool calls of a server. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolCalls(Arc<Mutex<Records>>);

/// The sender of a request, as far as tool calls are concerned.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    calls: ToolCalls,
    chat: Chat,
    /// The name of the sender's token.
    token: Arc<str>,
    /// The permit of the request. Work that outlives the connection keeps it.
    permit: Option<RequestPermit>,
}

/// The tool call that a request is part of, if it is part of one.
#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    sender: Sender,
    id: Option<String>,
}

/// An answer as it is sent, and kept for repeats.
#[derive(Clone, Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl ToolCalls {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock()
    }
}

impl ToolCall {
    /// Returns the id: a UUID in its usual form, or any other text as it came.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the digest of the content of a request, or `None` if the request names no tool call.
    pub(super) fn request_digest(
        &self,
        digest: impl FnOnce() -> blake3::Hash,
    ) -> Option<blake3::Hash> {
        self.id.is_some().then(digest)
    }

    /// Runs `act`, unless an earlier request of the same tool call has run it. In that case, waits for the answer to that
    /// request and returns it.
    ///
    /// `asked` is the digest of the request: see [`Self::request_digest`]. It tells a repeat from another request under the
    /// same id. `act` runs to its end even if the client disconnects.
    pub(super) async fn once<F>(
        self,
        asked: Option<blake3::Hash>,
        act: F,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { sender, id } = self;
        let (Some(id), Some(asked)) = (id, asked) else {
            // Run in a task of its own: if the client disconnects, the act still finishes and is recorded in the audit trail.
            let act = async move {
                let result = act.await;
                drop(sender);
                result
            };
            let acted = tokio::spawn(act.in_current_span()).await;
            return acted.unwrap_or_else(|_| Ok(Answer::unknown().into_response()));
        };
        let Sender {
            calls,
            chat,
            token,
            permit,
        } = sender;
        let key = Key::new(&chat, &id);
        let begun = calls.records().begin(&key, &token, asked)?;
        let answer = match begun {
            Begun::Answered(answer) => Some(answer),
            Begun::Running(answer) => answer.await.ok(),
            Begun::New(finish, answer) => {
                let run = async move {
                    let answer = match AssertUnwindSafe(act).catch_unwind().await {
                        Ok(result) => Answer::of(result.into_response()).await,
                        Err(_) => Answer::unknown(),
                    };
                    calls.records().finish(&key, &answer);
                    _ = finish.send(answer);
                    drop(permit);
                };
                tokio::spawn(run.in_current_span());
                answer.await.ok()
            }
        };
        Ok(answer.unwrap_or_else(Answer::unknown).into_response())
    }
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(body) => Self {
                status: parts.status,
                headers: parts.headers,
                body,
            },
            Err(_) => Self::unknown(),
        }
    }

    fn json(status: StatusCode, message: &str) -> Self {
        let body = format!("{}\n", reply::to_text(&json!({ "message": message })));
        Self {
            status,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, reply::JSON)]),
            body: body.into(),
        }
    }

    /// Returns the answer of a tool call whose handler failed.
    fn unknown() -> Self {
        let message = "Tool call failed with an internal error. Its outcome is unknown.";
        Self::json(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Returns the answer for a tool call whose own answer is no longer kept.
    fn gone() -> Self {
        let message = "The answer of the tool call is no longer kept. It is not run again.";
        Self::json(StatusCode::GONE, message)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let extensions = &parts.extensions;
        let calls = extensions.get::<ToolCalls>().cloned();
        let principal = extensions.get::<Principal>();
        Ok(Self {
            calls: calls.unwrap_or_default(),
            chat: Chat::of(&parts.headers),
            token: principal.map_or("", Principal::name).into(),
            permit: extensions.get::<RequestPermit>().cloned(),
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ToolCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = parts.headers.get(HEADER).map(|value| {
            // An invalid id is refused. If it were ignored, every repeat would act again.
            normalize(value.to_str().unwrap_or_default()).map_err(|detail| {
                ApiError::bad_request("The tool call id is not valid.")
                    .validation("Coder-Tool-Call-Id", detail)
            })
        });
        let id = id.transpose()?;
        let Ok(sender) = Sender::from_request_parts(parts, state).await;
        Ok(Self { sender, id })
    }
}

/// Digests the content of a request to a route.
pub(super) fn digest(route: &str, parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in [route.as_bytes()].iter().chain(parts) {
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
            digest("a", &[b"b", b"c"]),
            digest("a", &[b"bc"]),
            digest("a", &[b"b", b"c", b""]),
            digest("ab", &[b"c"]),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
