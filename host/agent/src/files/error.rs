//! What a client is told when something is not possible with a file.

use axum::http::StatusCode;

use crate::error::ApiError;
use toolhost_workspace::files::Error;

/// Says why a file cannot be opened, or whatever else a path names.
pub(super) fn refused(path: &str, error: &Error) -> ApiError {
    let text = text(error);
    let message = match error {
        // Its text names the path already.
        Error::OutsideWorkspace { .. } => text,
        _ => format!("open {path}: {text}"),
    };
    ApiError::new(status(error), message)
}

/// Returns the text of an error, in the words of the reference.
pub(super) fn text(error: &Error) -> String {
    match error {
        Error::NotAFile => "not a file".into(),
        error => error.to_string(),
    }
}

/// The one place that maps what happens to files to status codes.
pub(super) fn status(error: &Error) -> StatusCode {
    match error {
        Error::Denied(_) | Error::OutsideWorkspace { .. } => StatusCode::FORBIDDEN,
        Error::NotFound => StatusCode::NOT_FOUND,
        Error::Invalid(_) | Error::NotAFile | Error::NotADirectory => StatusCode::BAD_REQUEST,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Changed(_) => StatusCode::CONFLICT,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        // It may have been done, so nobody should be invited to try again.
        Error::UnknownOutcome(_) | Error::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
