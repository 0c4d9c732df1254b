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

impl Chat {
    /// Makes the chat of running calls that no store has yet.
    pub fn unstored(chat: ChatId) -> Self {
        Self {
            chat,
            principal: String::new(),
            running: 0,
            used_ms: None,
            ended_ms: None,
        }
    }
}

/// Tools that were found in a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTools {
    /// The chat.
    pub chat: ChatId,
    /// The name of the token that uses the chat.
    pub principal: String,
    /// Their names, the best match first.
    pub tools: Vec<String>,
}

impl FoundTools {
    /// The maximum number of tools that a chat remembers as found. Further ones are not added.
    pub const MOST: usize = 256;

    /// Adds the tools to those that were found before. Returns whether the list has changed.
    pub fn add_to(&self, found: &mut Vec<String>) -> bool {
        let before = found.len();
        for tool in &self.tools {
            if found.len() < Self::MOST && !found.contains(tool) {
                found.push(tool.clone());
            }
        }
        found.len() > before
    }
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

impl ChatQuery {
    /// Makes the page of these chats. One more than the limit says that another page follows.
    pub fn page(&self, mut chats: Vec<Chat>) -> ChatPage {
        let most = self.limit as usize;
        let is_more = chats.len() > most;
        chats.truncate(most);
        let last = chats.last().filter(|_| is_more);
        let next = last.map(|last| ChatsAfter {
            busy: self.busy.contains_key(&last.chat),
            chat: last.chat.clone(),
        });
        ChatPage { chats, next }
    }
}

/// A position in the list of chats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatsAfter {
    /// Whether the position is among the chats with running calls.
    pub busy: bool,
    /// The name of the last chat before the position.
    pub chat: ChatId,
}
