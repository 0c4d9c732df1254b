//! The answer to a request of a tool call, as it is sent, and as the ledger keeps it for repeats.

use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::reply;
use toolhost_call::call::{Outcome, Refused};
use toolhost_call::tool::{Content, Reply};
use toolhost_state::id::CallId;

/// The answers to requests that did nothing.
const UNDONE: [StatusCode; 2] = [
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// An answer. Answers of this API are text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.ok();
        let body = body.and_then(|body| String::from_utf8(body.into()).ok());
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        body.map_or_else(Self::unknown, |body| Self {
            status: parts.status.as_u16(),
            headers: parts.headers.iter().filter_map(header).collect(),
            body,
        })
    }

    /// Returns the answer of a tool call whose handler failed, or whose server was killed while it ran.
    pub(super) fn unknown() -> Self {
        let message = "Tool call failed with an internal error. Its outcome is unknown.";
        Self::error(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Returns the answer for a tool call whose own answer is no longer kept.
    pub(super) fn gone() -> Self {
        let message = "The answer of the tool call is no longer kept. It is not run again.";
        Self::error(StatusCode::GONE, message)
    }

    fn error(status: StatusCode, message: &str) -> Self {
        let message = serde_json::json!({ "message": message });
        Self {
            status: status.as_u16(),
            headers: vec![(CONTENT_TYPE.to_string(), reply::JSON.to_owned())],
            body: format!("{}\n", reply::to_text(&message)),
        }
    }

    /// Returns the answer that an outcome keeps.
    pub(super) fn kept(outcome: &Outcome) -> Self {
        let content = outcome.result.as_ref().ok().map(|reply| &reply.content[..]);
        let answer = match content {
            Some([Content::Text { text }]) => serde_json::from_str(text).ok(),
            _ => None,
        };
        answer.unwrap_or_else(Self::unknown)
    }

    /// Returns the outcome that keeps this answer.
    ///
    /// # Errors
    ///
    /// If the answer says that nothing was done: a repeat may run.
    pub(super) fn outcome(&self, id: CallId, tool: &str) -> Result<Outcome, Refused> {
        let text = reply::to_text(self);
        if UNDONE.iter().any(|status| *status == self.status) {
            return Err(Refused::Busy(text));
        }
        let reply = Reply {
            content: vec![Content::Text { text }],
            is_error: self.status >= 400,
        };
        Ok(Outcome::new(id, tool, Ok(reply)))
    }

    /// Returns the answer to a request that the ledger refuses.
    pub(super) fn refusal(refused: Refused, call: &CallId) -> Result<Self, ApiError> {
        match refused {
            Refused::Cancelled => Err(ApiError::canceled()),
            Refused::InputMismatch => Err(ApiError::other_request(call.as_str())),
            Refused::Gone => Ok(Self::gone()),
            Refused::Busy(text) => match serde_json::from_str(&text) {
                Ok(answer) => Ok(answer),
                Err(_) => Err(ApiError::busy(text)),
            },
            refused => Err(ApiError::unavailable(refused.to_string())),
        }
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        let mut headers = self.headers.iter();
        let kind = headers.find(|(name, _)| *name == CONTENT_TYPE.as_str());
        kind.map(|(_, value)| value.as_str())
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let headers = self.headers.iter().filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        });
        let status = StatusCode::from_u16(self.status).unwrap_or_default();
        (
            status,
            headers.collect::<HeaderMap>(),
            Body::from(self.body),
        )
            .into_response()
    }
}
