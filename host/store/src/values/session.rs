//! Values of MCP sessions.

use serde::Serialize;
use toolhost_state::id::ChatId;

/// A stored MCP session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Its chat.
    #[serde(serialize_with = "super::id")]
    pub chat: ChatId,
    /// Whether the client named the chat. A named chat outlives the session.
    pub is_named: bool,
    /// The name of the token.
    pub principal: String,
    /// A digest by which the server recognises the token and its rights. Exports leave it out.
    #[serde(skip)]
    pub token: Vec<u8>,
    /// The protocol revision.
    pub revision: String,
    /// The state with which the server resumes the session, as a text that only the server reads.
    pub client: String,
    /// When it began.
    pub created_ms: u64,
    /// When it was last used.
    pub used_ms: u64,
}
