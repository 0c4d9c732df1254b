//! The chat, the workspace and the options of a client in the path and headers of a request, which every framework can set.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use toolhost_http::problem::Problem;
use toolhost_state::id::{ChatId, InvalidId};
use toolhost_state::workspace_name::{InvalidWorkspaceName, WorkspaceName};

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// The header that names the chat of a client.
const CHAT: HeaderName = HeaderName::from_static("toolhost-chat");

/// The header that names the workspace of that chat.
const WORKSPACE: HeaderName = HeaderName::from_static("toolhost-workspace");

/// The header by which a program asks for structured content.
const STRUCTURED: HeaderName = HeaderName::from_static("toolhost-structured");

/// The chat and the options of a client: an extension of the request.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// The chat that the client names.
    pub(super) chat: Option<ChatId>,
    /// The workspace that the client names.
    pub(super) workspace: Option<WorkspaceName>,
    /// Whether the client asks for structured content.
    pub(super) structured: bool,
}

impl Connection {
    /// Reads the path and the headers of a request.
    ///
    /// # Errors
    ///
    /// 400, if they are invalid.
    pub(super) fn of(path: Option<&str>, headers: &HeaderMap) -> Result<Self, Problem> {
        let structured = match headers.get(STRUCTURED).map(HeaderValue::as_bytes) {
            None | Some(b"false") => false,
            Some(b"true") => true,
            Some(_) => {
                let detail = "the header Toolhost-Structured is true or false";
                return Err(Problem::broken_request(detail));
            }
        };
        Ok(Self {
            chat: named(path, headers)?,
            workspace: workspace(headers)?,
            structured,
        })
    }
}

/// Returns the chat that a request names, if it names one.
fn named(path: Option<&str>, headers: &HeaderMap) -> Result<Option<ChatId>, Problem> {
    let mut sent = headers.get_all(CHAT).iter();
    let header = sent.next();
    if sent.next().is_some() {
        let detail = "send one Toolhost-Chat header";
        return Err(Problem::broken_request(detail));
    }
    let of_path = path.map(str::parse::<ChatId>).transpose();
    let of_path = of_path.map_err(|error| invalid("path", &error))?;
    let of_header = header.map(|value| value.to_str().unwrap_or_default().parse::<ChatId>());
    let of_header = of_header.transpose();
    let of_header = of_header.map_err(|error| invalid("header Toolhost-Chat", &error))?;
    match (of_path, of_header) {
        (Some(path), Some(header)) if path != header => {
            let detail = format!(
                "the path names the chat {path} and the header Toolhost-Chat the chat {header}: name one"
            );
            Err(Problem::broken_request(detail))
        }
        (path, header) => Ok(path.or(header)),
    }
}

/// Returns the workspace that a request names, if it names one.
fn workspace(headers: &HeaderMap) -> Result<Option<WorkspaceName>, Problem> {
    let mut sent = headers.get_all(WORKSPACE).iter();
    let header = sent.next();
    if sent.next().is_some() {
        let detail = "send one Toolhost-Workspace header";
        return Err(Problem::broken_request(detail));
    }
    let name = header.map(|value| value.to_str().unwrap_or_default().parse());
    name.transpose().map_err(|error: InvalidWorkspaceName| {
        let detail = format!("the header Toolhost-Workspace names no workspace: {error}");
        Problem::broken_request(detail)
    })
}

fn invalid(place: &str, error: &InvalidId) -> Problem {
    Problem::broken_request(format!("the {place} names no chat: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: Option<&str>, headers: &[&str]) -> Result<Option<String>, String> {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(CHAT, header.parse().unwrap());
        }
        let read = Connection::of(path, &map).map_err(|problem| problem.detail().to_owned())?;
        assert!(!read.structured);
        Ok(read.chat.map(|chat| chat.to_string()))
    }

    #[test]
    fn a_path_and_a_header_name_one_chat_or_none() {
        assert_eq!(of(None, &[]), Ok(None));
        for (path, headers) in [(Some("a"), &[][..]), (None, &["a"]), (Some("a"), &["a"])] {
            assert_eq!(of(path, headers), Ok(Some("a".into())));
        }
    }

    #[test]
    fn what_names_two_chats_or_no_chat_is_refused() {
        for (path, headers, detail) in [
            (Some("a"), &["b"][..], "name one"),
            (None, &["a", "a"], "send one Toolhost-Chat header"),
            (None, &[""], "the header Toolhost-Chat names no chat"),
            (None, &["a/b"], "the header Toolhost-Chat names no chat"),
            (Some("a b"), &[], "the path names no chat"),
        ] {
            let problem = of(path, headers).unwrap_err();
            assert!(problem.contains(detail), "{problem}");
        }
    }

    #[test]
    fn structured_content_is_asked_for_or_not() {
        let structured = |value: &str| {
            let header = (STRUCTURED, value.parse().unwrap());
            let read = Connection::of(None, &HeaderMap::from_iter([header]));
            read.map(|read| read.structured).ok()
        };
        let read = ["true", "false", "1"].map(structured);
        assert_eq!(read, [Some(true), Some(false), None]);
    }
}
