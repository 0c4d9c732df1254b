//! Who calls, for which chat, and on what connection.

use axum::http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::{Extensions, MetaObject};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::errors;
use crate::id::{CallId, ChatId, InvalidId, MAX_CHAT_ID};
use crate::server::Principal;

/// The key of `_meta` that names the chat.
pub(super) const CHAT: &str = "io.toolhost/chat";

/// The key of `_meta` that names the call.
pub(super) const CALL: &str = "io.toolhost/call";

/// One client over time: what is on the other end of two pipes, or a session of streamable HTTP.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) principal: Principal,
    /// The chat of calls that name none.
    pub(super) chat: ChatId,
    /// Cancelled when the client is gone for good.
    pub(super) lost: CancellationToken,
}

/// Who makes a request.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) principal: Principal,
    pub(super) chat: ChatId,
    /// Cancelled with the session; `None` if there is none, so that the request is all there is of the client.
    pub(super) lost: Option<CancellationToken>,
}

impl Session {
    /// Begins a session, with a chat of its own unless one was configured.
    pub(super) fn new(principal: Principal, chat: Option<ChatId>) -> Result<Self, InvalidId> {
        let chat = match chat {
            Some(chat) => chat,
            None => own_chat(&principal, &uuid::Uuid::new_v4().simple().to_string())?,
        };
        Ok(Self {
            principal,
            chat,
            lost: CancellationToken::new(),
        })
    }
}

impl Caller {
    /// Finds out who makes a request: in the session of these pipes, in one of HTTP, or in none.
    pub(super) fn of(
        session: Option<&Session>,
        extensions: &Extensions,
        meta: &MetaObject,
        configured: Option<&ChatId>,
    ) -> Result<Self, ErrorData> {
        let session = session.or_else(|| extensions.get::<Session>());
        let principal = principal(session, extensions)
            .ok_or_else(|| errors::internal("the request came in without a principal"))?
            .clone();
        let chat = match (text(meta, CHAT)?, session, configured) {
            (Some(chat), ..) => chat.parse().map_err(errors::invalid_id)?,
            (None, Some(session), _) => session.chat.clone(),
            (None, None, Some(chat)) => chat.clone(),
            (None, None, None) => {
                own_chat(&principal, principal.name()).map_err(errors::invalid_id)?
            }
        };
        if !principal.may_name(&chat) {
            let detail = "this token is for chats with another prefix";
            return Err(errors::refused("foreign_chat", detail));
        }
        Ok(Self {
            principal,
            chat,
            lost: session.map(|session| session.lost.clone()),
        })
    }
}

/// Returns who makes a request. What a token may is looked at with each: it can change during a session.
pub(super) fn principal<'a>(
    session: Option<&'a Session>,
    extensions: &'a Extensions,
) -> Option<&'a Principal> {
    let parts = extensions.get::<Parts>();
    let sent = parts.and_then(|parts| parts.extensions.get::<Principal>());
    sent.or(session.map(|session| &session.principal))
}

/// Returns the id that the client gave to a call, if it did. One without can never be told from another: ids of JSON-RPC
/// repeat.
pub(super) fn call_id(meta: &MetaObject) -> Result<Option<CallId>, ErrorData> {
    let id = text(meta, CALL)?;
    id.map(|id| id.parse().map_err(errors::invalid_id))
        .transpose()
}

fn text<'a>(meta: &'a MetaObject, key: &str) -> Result<Option<&'a str>, ErrorData> {
    match meta.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(errors::broken(format!("_meta[{key:?}] must be a string"))),
    }
}

/// Returns a chat that the principal may name, with this in its name.
fn own_chat(principal: &Principal, name: &str) -> Result<ChatId, InvalidId> {
    let prefix = principal.chat_prefix().unwrap_or_default();
    let plain = format!("{prefix}mcp-{name}");
    plain.parse().or_else(|_| {
        // A name with other characters than a chat may have, or with too many of them.
        let hash = blake3::hash(name.as_bytes()).to_hex();
        let room = MAX_CHAT_ID.saturating_sub(prefix.len() + "mcp-".len());
        // Of less, two could be the same.
        let length = room.clamp(SHORTEST, 32);
        let short: String = hash.chars().take(length).collect();
        format!("{prefix}mcp-{short}").parse()
    })
}

/// The fewest characters of a hash that tell the chats of one token from each other.
const SHORTEST: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::server::Scope;

    fn meta(value: Value) -> MetaObject {
        serde_json::from_value(value).unwrap()
    }

    fn chat(prefix: Option<&str>, session: bool, value: Value) -> Result<String, ErrorData> {
        let principal = Principal::new("web", [Scope::Call], prefix.map(str::to_owned), None);
        let mut parts = axum::http::Request::new(()).into_parts().0;
        parts.extensions.insert(principal.clone());
        let mut extensions = Extensions::new();
        extensions.insert(parts);
        let session = session.then(|| Session::new(principal, None).unwrap());
        let caller = Caller::of(session.as_ref(), &extensions, &meta(value), None)?;
        assert_eq!(caller.lost.is_some(), session.is_some());
        Ok(caller.chat.to_string())
    }

    #[test]
    fn a_chat_is_named_or_that_of_the_session_or_that_of_the_token() {
        assert_eq!(chat(None, false, json!({})).unwrap(), "mcp-web");
        assert_eq!(chat(Some("a-"), false, json!({})).unwrap(), "a-mcp-web");
        assert_eq!(chat(None, true, json!({ CHAT: "x" })).unwrap(), "x");
        let one = chat(Some("a-"), true, json!({})).unwrap();
        let other = chat(Some("a-"), true, json!({})).unwrap();
        assert!(one.starts_with("a-mcp-") && one != other, "{one} {other}");
    }

    #[test]
    fn foreign_chats_and_broken_names_are_refused() {
        for (value, word) in [
            (json!({ CHAT: "b-1" }), "foreign_chat"),
            (json!({ CHAT: "a b" }), "broken_request"),
            (json!({ CHAT: 7 }), "broken_request"),
        ] {
            let error = chat(Some("a-"), true, value).unwrap_err();
            assert_eq!(error.data.unwrap()["code"], word);
        }
    }

    #[test]
    fn a_long_prefix_leaves_a_session_less_of_a_name_or_none() {
        let own = |length| {
            let prefix = Some("p".repeat(length));
            let principal = Principal::new("web", [Scope::Call], prefix, None);
            let session = Session::new(principal, None).ok()?;
            Some(session.chat.as_str().len())
        };
        assert_eq!(own(88), Some(124));
        assert_eq!(own(100), Some(128));
        assert_eq!((own(108), own(109)), (Some(128), None));
    }

    #[test]
    fn a_token_with_any_name_has_a_chat() {
        let principal = Principal::unbounded("Jürgens Rechner");
        let chat = own_chat(&principal, principal.name()).unwrap();
        assert!(chat.as_str().starts_with("mcp-") && chat.as_str().len() == 36);
    }
}
