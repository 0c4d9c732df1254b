//! Values of chats.

use serde::Serialize;
use toolhost_state::id::ChatId;

/// A chat as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chat {
    /// Its name.
    #[serde(serialize_with = "super::id")]
    pub chat: ChatId,
    /// The name of the token that used it first.
    pub principal: String,
    /// How many calls of it run.
    pub running: u64,
    /// When its last call began; `None` if no call of it is remembered.
    pub used_ms: Option<u64>,
    /// When it was ended, if it was and no call has begun since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
}

/// Which chats to list: those with running calls first, each part by name.
#[derive(Clone, Debug, Default)]
pub struct ChatQuery {
    /// How their names begin; empty: all.
    pub prefix: String,
    /// Chats behind this place.
    pub after: Option<ChatsAfter>,
    /// The most chats to return.
    pub limit: u32,
}

/// A place in the list of chats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatsAfter {
    /// Whether the place is among the chats with running calls.
    pub busy: bool,
    /// The name of the last chat before the place.
    pub chat: ChatId,
}
