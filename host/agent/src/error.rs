//! Errors as the reference implementation writes them. The rest of the server answers with problem documents instead.

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::process_status::ProcessStatus;
use super::reply;
use toolhost_http::limits::NoRoom;
use toolhost_http::problem::Detail;
use toolhost_workspace::process::Error;

/// The prefix of the paths of this API, as in the reference.
const PREFIX: &str = "/api/v0/";

/// The most bytes of a client's text that an error repeats.
const MAX_ECHO: usize = 64;

/// An error response.
#[derive(Debug, Serialize)]
pub struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validations: Vec<Validation>,
    /// The status of a process whose output is no longer kept.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    process: Option<Box<ProcessStatus>>,
}

/// The problem of one field of a request.
#[derive(Debug, Serialize)]
struct Validation {
    field: Cow<'static, str>,
    detail: String,
}

impl From<NoRoom> for ApiError {
    fn from(busy: NoRoom) -> Self {
        Self::busy(busy.to_string())
    }
}

impl ApiError {
    /// Makes an error of a status and a message.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            detail: None,
            validations: Vec::new(),
            process: None,
        }
    }

    /// Makes the error of a request that cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Makes the error of a query parameter, or of a field like one, that is not valid.
    pub(super) fn invalid(field: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self::bad_request("Query parameters have invalid values.").validation(field, detail)
    }

    /// Makes the error of a process that does not exist, or that this chat may not see.
    pub(super) fn not_found(id: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            format!("Process {} not found.", quote(id)),
        )
    }

    /// Makes the error of a failed look-up of a process.
    pub(super) fn of_lookup(error: Error, id: &str) -> Self {
        match error {
            Error::NotFound(_) => Self::not_found(id),
            error => Self::of_process(error, "Failed to look the process up.", "look process up"),
        }
    }

    /// Makes the error of a process whose output is no longer kept.
    pub(super) fn gone(id: &str, process: ProcessStatus) -> Self {
        let message = format!("The output of process {} is no longer kept.", quote(id));
        Self {
            process: Some(Box::new(process)),
            ..Self::new(StatusCode::GONE, message)
        }
    }

    /// Makes the error of a tool call id that was used for another request before.
    pub(super) fn other_request(call: &str) -> Self {
        let message = format!(
            "The tool call {} was used for another request.",
            quote(call)
        );
        Self::new(StatusCode::CONFLICT, message)
            .detail("A repeat must be for the same chat, and ask for the same.")
    }

    /// Makes the error of a request for which there is no place now.
    pub(super) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "The server is busy.").detail(detail)
    }

    /// Makes the error of a tool call that did not run, because it could not be recorded.
    pub(super) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Tool call was not run.").detail(detail)
    }

    /// Makes the error of a cancelled tool call.
    pub(super) fn canceled() -> Self {
        Self::new(StatusCode::CONFLICT, "Tool call was canceled.")
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub(super) fn validation(
        mut self,
        field: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        let (field, detail) = (field.into(), detail.into());
        self.validations.push(Validation { field, detail });
        self
    }

    /// Makes the error of a failed operation on processes. `message` is the reference's text for the operation. `doing` begins
    /// the detail, as in `start process: permission denied`.
    pub(super) fn of_process(error: Error, message: &str, doing: &str) -> Self {
        let text = error.to_string();
        match error {
            Error::NotFound(id) => Self::not_found(&id),
            Error::Invalid(_) | Error::NotListening(_) => Self::bad_request(text),
            Error::Workdir {
                path,
                problem,
                hint,
            } => {
                let refused = Self::bad_request(format!("workdir {problem}: {}", path.display()))
                    .validation("workdir", problem);
                match hint.trim_start_matches([';', ' ']) {
                    "" => refused,
                    hint => refused.detail(hint),
                }
            }
            Error::KeyReused(key) => Self::other_request(&key),
            // No `Retry-After`: capacity is free when a process ends, and that time is unknown.
            Error::Limit(_) | Error::Busy(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, message).detail(text)
            }
            Error::Closed => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, message).detail("manager is closed")
            }
            Error::Unavailable(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, message).detail(text)
            }
            // It may have been done, so the status must not invite clients to repeat it.
            Error::Interrupted | Error::UnknownOutcome(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, message).detail(text)
            }
            Error::Failed(_) => {
                let detail = match text.strip_prefix(doing) {
                    Some(rest) if rest.starts_with(": ") => text,
                    _ => format!("{doing}: {text}"),
                };
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, message).detail(detail)
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        reply::json(self.status, &self)
    }
}

/// Quotes a client's text, escapes it, and cuts it after 64 bytes.
pub(super) fn quote(text: &str) -> String {
    match text.get(..text.floor_char_boundary(MAX_ECHO)) {
        Some(start) if start.len() < text.len() => format!("{start:?}…"),
        _ => format!("{text:?}"),
    }
}

/// Converts errors of the layers around this API, and of unknown routes, into the form of this API. Its clients read the
/// field `message` of every error.
pub fn as_api_errors(request: &Request) -> Option<fn(Response) -> Response> {
    let ours = request.uri().path().starts_with(PREFIX);
    ours.then_some(as_api_error)
}

fn as_api_error(mut response: Response) -> Response {
    let Some(Detail(detail)) = response.extensions_mut().remove::<Detail>() else {
        return response;
    };
    let (mut parts, _) = response.into_parts();
    let (form, body) = ApiError::new(parts.status, detail)
        .into_response()
        .into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    if let Some(kind) = form.headers.get(CONTENT_TYPE) {
        parts.headers.insert(CONTENT_TYPE, kind.clone());
    }
    Response::from_parts(parts, body)
}

pub(super) async fn no_method(request: Request) -> ApiError {
    let message = format!("{} is not possible here.", request.method());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_clients_are_escaped_and_cut() {
        assert_eq!(quote("a\u{1b}[31m\"\n"), r#""a\u{1b}[31m\"\n""#);
        assert_eq!(quote(&"ä".repeat(1000)), format!("\"{}\"…", "ä".repeat(32)));
    }

    #[test]
    fn failures_have_the_texts_of_the_reference() {
        let body = |error| {
            let error = ApiError::of_process(error, "Failed to start process.", "start process");
            (error.status.as_u16(), serde_json::to_value(&error).unwrap())
        };
        for (error, status, detail) in [
            (
                Error::Failed("no memory".into()),
                500,
                "start process: no memory",
            ),
            (Error::Closed, 500, "manager is closed"),
            (Error::Limit("too many".into()), 429, "too many"),
            (Error::Interrupted, 500, &*Error::Interrupted.to_string()),
            (
                Error::Unavailable("refused".into()),
                503,
                "the workspace cannot be reached: refused",
            ),
        ] {
            let expected = serde_json::json!({
                "message": "Failed to start process.", "detail": detail,
            });
            assert_eq!(body(error), (status, expected));
        }
    }
}
