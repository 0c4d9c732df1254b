//! Values of chats.

use std::collections::BTreeMap;

use serde::Serialize;
use toolhost_state::id::ChatId;

/// A stored chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chat {
    /// Its name.
    #[serde(serialize_with = "super::id")]
    pub chat: ChatId,
    /// The name of the token that first used the chat.
    pub principal: String,
    /// How many of its calls run.
    pub running: u64,
    /// When its last call began; `None` if the store remembers none of its calls.
    pub used_ms: Option<u64>,
    /// When the chat was ended; `None` if it was not, or if a call has begun since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
}

/// A page of a list of chats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatPage {
    /// The chats.
    pub chats: Vec<Chat>,
    /// The [`ChatQuery::after`] of the next page; `None` if nothing is left.
    pub next: Option<ChatsAfter>,
}

/// A query for chats: first those with running calls, then the others, each group sorted by name.
#[derive(Clone, Debug, Default)]
pub struct ChatQuery {
    /// The prefix of their names; empty: all chats.
    pub prefix: String,
    /// The chats with running calls, and how many run in each. A chat that is not stored yet is listed without a principal.
    pub busy: BTreeMap<ChatId, u64>,
    /// Chats after this position.
    pub after: Option<ChatsAfter>,
    /// The most chats to return.
    pub limit: u32,
}

/// A position in the list of chats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatsAfter {
    /// Whether the position is among the chats with running calls.
    pub busy: bool,
    /// The name of the last chat before the position.
    pub chat: ChatId,
}
