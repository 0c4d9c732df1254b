//! Paths of requests, and the errors of operations on them, as clients read both.

use axum::http::StatusCode;

use crate::error::ApiError;
use crate::query::Query;
use toolhost_workspace::files::Error;

/// Returns the path in a query that has no further parameters than those asked for.
pub(super) fn of(mut query: Query) -> Result<String, ApiError> {
    let path = query.required("path");
    query.finish_strictly()?;
    check(&path).map_err(ApiError::bad_request)?;
    Ok(path)
}

/// Returns an error if a path cannot be one of this API. Paths are absolute.
pub(super) fn check(path: &str) -> Result<(), String> {
    if !path.starts_with('/') {
        return Err(format!("file path must be absolute: {path:?}"));
    }
    if path.contains('\0') {
        return Err(format!("file path must not contain NUL: {path:?}"));
    }
    Ok(())
}

/// Returns the names of a path, with `.`, `..` and empty ones resolved by name.
pub(super) fn names<'a>(parts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = Vec::new();
    for name in parts.into_iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name.to_owned()),
        }
    }
    names
}

/// Returns the absolute path of these names.
pub(super) fn joined(names: &[String]) -> String {
    format!("/{}", names.join("/"))
}

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
        Error::Changed(_) | Error::NotEmpty => StatusCode::CONFLICT,
        Error::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        // The operation may have been done, so the status must not invite clients to retry.
        Error::UnknownOutcome(_) | Error::NoSpace | Error::Failed(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_are_taken() {
        assert_eq!(check("/a/../b"), Ok(()));
        for path in ["", "a", "./a", "../a", "~", "~/a", "a/b"] {
            let text = check(path).unwrap_err();
            assert_eq!(text, format!("file path must be absolute: \"{path}\""));
        }
        assert!(check("/a\0b").unwrap_err().contains(r#""/a\0b""#));
    }

    #[test]
    fn names_are_resolved_by_name() {
        for (parts, expected) in [
            (&["/"][..], "/"),
            (&["/a//./b/"], "/a/b"),
            (&["/a", "../../..", "b/c"], "/b/c"),
            (&["", "a", ".", "b"], "/a/b"),
        ] {
            let names = names(parts.iter().copied());
            assert_eq!(joined(&names), expected, "{parts:?}");
        }
    }
}
