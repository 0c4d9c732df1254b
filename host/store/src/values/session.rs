//! Values of MCP sessions.

use serde::Serialize;
use toolhost_state::id::ChatId;

/// An MCP session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Its chat.
    #[serde(serialize_with = "super::id")]
    pub chat: ChatId,
    /// Whether the client named the chat, so that it outlives the session.
    pub is_named: bool,
    /// The name of the token.
    pub principal: String,
    /// The protocol revision.
    pub revision: String,
    /// When it began.
    pub created_ms: u64,
    /// When it was last used.
    pub used_ms: u64,
}
