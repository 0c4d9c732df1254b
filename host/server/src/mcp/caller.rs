//! The caller of a request: its principal, its chat, and its connection.

use std::fmt::Display;
use std::str::FromStr;

use axum::http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::{Extensions, MetaObject};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::McpOptions;
use super::connection::Connection;
use super::errors;
use toolhost_http::access::Principal;
use toolhost_state::id::{CallId, ChatId, InvalidId, MAX_CHAT_ID};
use toolhost_state::workspace_name::WorkspaceName;

/// The key of `_meta` that names the chat.
const CHAT: &str = "io.toolhost/chat";

/// The key of `_meta` that names the call.
pub(super) const CALL: &str = "io.toolhost/call";

/// The key of `_meta` that names the workspace of the chat.
const WORKSPACE: &str = "io.toolhost/workspace";

/// The session of one client: on two pipes, or of streamable HTTP.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) principal: Principal,
    /// The chat of calls that name none.
    pub(super) chat: ChatId,
    /// Whether the client named the chat. If so, no call names another one, and the chat outlives the session.
    pub(super) is_named: bool,
    /// Cancelled when the client is gone for good.
    pub(super) lost: CancellationToken,
}

/// An extension of a notification that the server repeats for a session of an earlier server: the tools may be others than those that
/// the client knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revived;

/// The caller of a request.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) principal: Principal,
    pub(super) chat: ChatId,
    /// Whether the path, the header or the session names the chat. If so, the caller may use nothing outside of it.
    pub(super) is_confined: bool,
    /// The prefix of the chats whose processes the caller may open by id; see
    /// [`Request::reach`](toolhost_call::call::Request::reach). `None` for a caller whose chat outlives the request.
    pub(super) reach: Option<String>,
    /// The workspace that the request names for the chat.
    pub(super) workspace: Option<WorkspaceName>,
    /// Whether the client wants structured content.
    pub(super) structured: bool,
    /// Cancelled with the session. `None` if the request belongs to no session.
    pub(super) lost: Option<CancellationToken>,
}

impl Session {
    /// Begins a session, with a chat of its own unless the client named one.
    pub(super) fn new(principal: Principal, named: Option<ChatId>) -> Result<Self, InvalidId> {
        let is_named = named.is_some();
        let chat = named.map_or_else(|| own_chat(&principal), Ok)?;
        Ok(Self {
            principal,
            chat,
            is_named,
            lost: CancellationToken::new(),
        })
    }
}

impl Caller {
    /// Returns the caller of a request: in the session of the pipes, in a session of HTTP, or in none.
    pub(super) fn of(
        session: Option<&Session>,
        extensions: &Extensions,
        meta: &MetaObject,
        options: &McpOptions,
    ) -> Result<Self, ErrorData> {
        let session = session.or_else(|| http_extension::<Session>(extensions));
        // Each request is checked anew, because a token's rights can change during a session.
        let principal = http_extension::<Principal>(extensions);
        let principal = principal.or(session.map(|session| &session.principal));
        let principal = principal.cloned();
        let principal =
            principal.ok_or_else(|| errors::internal("the request came in without a principal"))?;
        let sent = http_extension::<Connection>(extensions);
        let of_session = session.filter(|session| session.is_named);
        let fixed = sent.and_then(|sent| sent.chat.as_ref());
        let fixed = fixed.or(of_session.map(|session| &session.chat));
        let chosen = named::<ChatId>(meta, CHAT)?;
        if let (Some(fixed), Some(chosen)) = (fixed, &chosen)
            && fixed != chosen
        {
            let message = format!(
                "the path or the header names the chat {fixed} and _meta[{CHAT:?}] the chat {chosen}: name one"
            );
            return Err(errors::broken(message));
        }
        let lasting = chosen.as_ref().or(fixed);
        let lasting = lasting.or(session.map(|session| &session.chat));
        let (chat, reach) = match lasting.or(options.chat.as_ref()) {
            Some(chat) => (chat.clone(), None),
            None => {
                let chat = own_chat(&principal).map_err(errors::broken)?;
                (chat, Some(own_prefix(&principal)))
            }
        };
        if !principal.may_name(&chat) {
            let detail = "this token is for chats with another prefix";
            return Err(errors::refused("foreign_chat", detail));
        }
        let chosen = named::<WorkspaceName>(meta, WORKSPACE)?;
        let of_header = sent.and_then(|sent| sent.workspace.clone());
        if let (Some(header), Some(chosen)) = (&of_header, &chosen)
            && header != chosen
        {
            let message = format!(
                "the header names the workspace {header} and _meta[{WORKSPACE:?}] the workspace {chosen}: name one"
            );
            return Err(errors::broken(message));
        }
        Ok(Self {
            principal,
            workspace: chosen.or(of_header),
            chat,
            is_confined: fixed.is_some(),
            reach,
            structured: options.structured || sent.is_some_and(|sent| sent.structured),
            lost: session.map(|session| session.lost.clone()),
        })
    }
}

/// Returns an extension of the HTTP request that carried a message.
pub(super) fn http_extension<T: Send + Sync + 'static>(extensions: &Extensions) -> Option<&T> {
    extensions.get::<Parts>()?.extensions.get()
}

/// Returns the id that the client gave to a call, if it gave one. A call without an id cannot be told from another one, because
/// ids of JSON-RPC repeat.
pub(super) fn call_id(meta: &MetaObject) -> Result<Option<CallId>, ErrorData> {
    named(meta, CALL)
}

fn named<T: FromStr<Err: Display>>(meta: &MetaObject, key: &str) -> Result<Option<T>, ErrorData> {
    match meta.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => id.parse().map(Some).map_err(errors::broken),
        Some(_) => Err(errors::broken(format!("_meta[{key:?}] must be a string"))),
    }
}

/// Returns the prefix of the chats that the server makes for clients which name none.
fn own_prefix(principal: &Principal) -> String {
    let prefix = principal.chat_prefix().unwrap_or_default();
    format!("{prefix}mcp-")
}

/// Makes a chat id that the principal may name, and that no other client can guess.
fn own_chat(principal: &Principal) -> Result<ChatId, InvalidId> {
    let prefix = own_prefix(principal);
    let room = MAX_CHAT_ID.saturating_sub(prefix.len());
    let random = uuid::Uuid::new_v4().simple().to_string();
    // A random part of 64 bits is enough.
    let random = random.chars().take(room.max(16));
    format!("{prefix}{}", random.collect::<String>()).parse()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use toolhost_http::access::Scope;

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
        let options = McpOptions::default();
        let caller = Caller::of(session.as_ref(), &extensions, &meta(value), &options)?;
        assert_eq!(caller.lost.is_some(), session.is_some());
        let lasts = session.is_some() || !caller.chat.as_str().contains("mcp-");
        assert_eq!(caller.reach.is_none(), lasts);
        Ok(caller.chat.to_string())
    }

    #[test]
    fn a_chat_is_named_or_that_of_the_session_or_that_of_the_request() {
        for session in [false, true] {
            assert_eq!(chat(None, session, json!({ CHAT: "x" })).unwrap(), "x");
            let one = chat(Some("a-"), session, json!({})).unwrap();
            let other = chat(Some("a-"), session, json!({})).unwrap();
            assert!(one.starts_with("a-mcp-") && one != other, "{one} {other}");
        }
    }

    #[test]
    fn names_of_one_chat_agree() {
        let principal = Principal::unbounded("web");
        let named = |chat: &str| chat.parse::<ChatId>().unwrap();
        let session = Session::new(principal.clone(), Some(named("a"))).unwrap();
        let mut parts = axum::http::Request::new(()).into_parts().0;
        parts.extensions.insert(principal);
        parts.extensions.insert(Connection {
            chat: Some(named("a")),
            workspace: None,
            structured: true,
        });
        let options = McpOptions {
            chat: Some(named("c")),
            ..McpOptions::default()
        };
        let mut extensions = Extensions::new();
        extensions.insert(parts);
        for session in [None, Some(&session)] {
            let of = |value| Caller::of(session, &extensions, &meta(value), &options);
            for agreed in [json!({}), json!({ CHAT: "a" })] {
                let caller = of(agreed).unwrap();
                assert!(caller.chat == named("a") && caller.structured);
            }
            let error = of(json!({ CHAT: "b" })).unwrap_err();
            assert_eq!(error.data.unwrap()["code"], "broken_request");
        }
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
}
