//! Errors of file operations, as clients read them.

use axum::http::StatusCode;

use crate::error::ApiError;
use toolhost_workspace::files::Error;

/// Makes the error for a path that cannot be opened.
pub(super) fn refused(path: &str, error: &Error) -> ApiError {
    let text = text(error);
    let message = match error {
        // The text of this error already names the path.
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

/// Returns the status code of a file error. No other code maps these errors.
pub(super) fn status(error: &Error) -> StatusCode {
    match error {
        Error::Denied(_) | Error::OutsideWorkspace { .. } => StatusCode::FORBIDDEN,
        Error::NotFound => StatusCode::NOT_FOUND,
        Error::Invalid(_) | Error::NotAFile | Error::NotADirectory => StatusCode::BAD_REQUEST,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Changed(_) => StatusCode::CONFLICT,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        // The operation may have been done, so the status must not invite clients to retry.
        Error::UnknownOutcome(_) | Error::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
