//! The chat of a request, from its headers.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use uuid::Uuid;

use toolhost_state::id::ChatId;

/// The header that names the chat: one UUID.
pub(super) const CHAT: &str = "coder-chat-id";

/// The header that names the chats from which this one was started: a JSON array of UUIDs.
pub(super) const ANCESTORS: &str = "coder-ancestor-chat-ids";

/// The chat that a request names. A malformed header counts as absent and is no error, as in the reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chat {
    /// The chat; `None`: the client names no chat, and sees the processes of all chats.
    pub(super) id: Option<ChatId>,
    /// The chats above it. They give no access to anything.
    pub(super) ancestors: Vec<Uuid>,
}

impl Chat {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // One form of each id, however it was written.
        let id = text(CHAT)
            .and_then(|text| Uuid::parse_str(text).ok())
            .and_then(|uuid| uuid.to_string().parse().ok());
        let ancestors = text(ANCESTORS).filter(|_| id.is_some());
        let ancestors: Vec<String> = ancestors
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let ancestors = ancestors
            .iter()
            .filter_map(|text| Uuid::parse_str(text).ok())
            .collect();
        Self { id, ancestors }
    }
}

impl<S: Sync> FromRequestParts<S> for Chat {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "11111111-2222-4333-8444-555555555555";
    const B: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

    fn chat(id: Option<&str>, ancestors: Option<&str>) -> Chat {
        let mut headers = HeaderMap::new();
        for (name, value) in [(CHAT, id), (ANCESTORS, ancestors)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        Chat::of(&headers)
    }

    fn known(ancestors: &[&str]) -> Chat {
        Chat {
            id: Some(A.parse().unwrap()),
            ancestors: ancestors.iter().map(|text| text.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn no_headers() {
        assert_eq!(chat(None, None), Chat::default());
    }

    #[test]
    fn valid_chat_id_no_ancestors() {
        assert_eq!(chat(Some(A), None), known(&[]));
        assert_eq!(chat(Some(A), Some("[]")), known(&[]));
        let braced = format!("{{{}}}", A.to_uppercase());
        assert_eq!(chat(Some(&braced), None), known(&[]));
    }

    #[test]
    fn valid_chat_id_valid_ancestors() {
        let ancestors = format!(r#"["{A}","{B}"]"#);
        assert_eq!(chat(Some(A), Some(&ancestors)), known(&[A, B]));
    }

    #[test]
    fn malformed_chat_id() {
        assert_eq!(chat(Some("not-a-uuid"), Some("[]")), Chat::default());
    }

    #[test]
    fn malformed_ancestor_json() {
        assert_eq!(chat(Some(A), Some("{not json")), known(&[]));
        assert_eq!(chat(Some(A), Some("[1]")), known(&[]));
    }

    #[test]
    fn partial_valid_ancestor_uuids() {
        let ancestors = format!(r#"["{A}","bad","{B}"]"#);
        assert_eq!(chat(Some(A), Some(&ancestors)), known(&[A, B]));
    }

    #[test]
    fn empty_chat_id_header() {
        assert_eq!(chat(Some(""), None), Chat::default());
    }

    #[test]
    fn empty_ancestor_header() {
        assert_eq!(chat(Some(A), Some("")), known(&[]));
    }
}
