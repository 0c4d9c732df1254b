//! Values of chats.

use std::collections::BTreeMap;

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

/// A page of a list of chats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatPage {
    /// The chats.
    pub chats: Vec<Chat>,
    /// The [`ChatQuery::after`] of the next page; `None` if nothing is left.
    pub next: Option<ChatsAfter>,
}

/// Which chats to list: those with running calls first, each part by name.
#[derive(Clone, Debug, Default)]
pub struct ChatQuery {
    /// How their names begin; empty: all.
    pub prefix: String,
    /// The chats with running calls, and how many run in each. One that is not stored yet is listed without a principal.
    pub busy: BTreeMap<ChatId, u64>,
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
