//! Problems of files, and the headers that keep browsers from running them.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use toolhost_http::problem::{Kind, Problem};
use toolhost_workspace::files::Error;

/// The policy for files that a browser shows: no scripts, no origin, and nothing from elsewhere.
const POLICY: &str =
    "sandbox; default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'";

/// Which pages may embed the answer: those of this origin alone.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The characters of a name in a header that are not written as they are (RFC 8187).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'.')
    .remove(b'-')
    .remove(b'_')
    .remove(b'~');

/// Returns the problem for a failed operation on the file at a path.
pub(super) fn problem(path: &str, error: Error) -> Problem {
    let kind = match &error {
        Error::Invalid(_) => Kind::BROKEN_REQUEST,
        Error::Denied(_) | Error::OutsideWorkspace { .. } => Kind::FILE_REFUSED,
        Error::NotFound => {
            let detail = format!("there is no file {path:?} in the workspace of this chat");
            return Problem::new(Kind::UNKNOWN_FILE, detail);
        }
        Error::NotEmpty => {
            let text = "directory not empty; to remove all that is in it, ask with ?recursive=true";
            return refused(Kind::FILE_CONFLICT, path, text);
        }
        Error::NotAFile | Error::NotADirectory => Kind::FILE_CONFLICT,
        Error::Changed(_) => Kind::FILE_CHANGED,
        Error::TooLarge(_) => Kind::TOO_LARGE,
        Error::NoSpace => Kind::DISK_FULL,
        Error::Busy(_) => Kind::BUSY,
        Error::Unavailable(_) => Kind::WORKSPACE_UNAVAILABLE,
        Error::UnknownOutcome(_) | Error::Failed(_) => Kind::INTERNAL,
    };
    match error {
        // This text names the path.
        Error::OutsideWorkspace { .. } => Problem::new(kind, error.to_string()),
        error => refused(kind, path, &error.to_string()),
    }
}

/// Returns a problem of the file at a path.
pub(super) fn refused(kind: Kind, path: &str, text: &str) -> Problem {
    Problem::new(kind, format!("{path:?}: {text}"))
}

/// Returns the headers of an answer with the content of files, which may be hostile. A browser saves it under this name, or shows it in a
/// sandbox.
pub(super) fn of_content(name: &str, is_inline: bool) -> HeaderMap {
    let shown = if is_inline { "inline" } else { "attachment" };
    let plain: String = name
        .chars()
        .map(|c| match c {
            '"' | '\\' | '%' => '_',
            c if c.is_ascii_graphic() || c == ' ' => c,
            _ => '_',
        })
        .collect();
    let escaped = utf8_percent_encode(name, ESCAPED);
    let disposition = format!("{shown}; filename=\"{plain}\"; filename*=UTF-8''{escaped}");
    let mut headers = HeaderMap::new();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_header() {
        for (name, expected) in [
            (
                "a b.txt",
                "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt",
            ),
            (
                "\"\r\nx: y",
                "attachment; filename=\"___x: y\"; filename*=UTF-8''%22%0D%0Ax%3A%20y",
            ),
            (
                "ä%.pdf",
                "attachment; filename=\"__.pdf\"; filename*=UTF-8''%C3%A4%25.pdf",
            ),
        ] {
            let headers = of_content(name, false);
            assert_eq!(headers[CONTENT_DISPOSITION], expected, "{name:?}");
        }
    }
}
