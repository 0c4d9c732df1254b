//! Retention: when outcomes and tombstones of calls are forgotten.

use std::time::Duration;

use super::Arguments;

/// How long outcomes are kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long an outcome is kept after its end; 1 h by default.
    pub keep: Duration,
    /// How many of the last outcomes of a chat are kept beyond that; 256 by default.
    pub keep_per_chat: usize,
    /// How long the id of a call is remembered after its outcome is gone; 24 h by default.
    pub tombstone: Duration,
    /// How many calls of a chat that were cancelled before they arrived are remembered at once; 4,096 by default. Cancelling
    /// another one is refused until one of them is forgotten.
    pub tombstones_per_chat: usize,
    /// The most bytes that all outcomes together may hold, beyond which the oldest go first of the tokens and chats with the most;
    /// 256 MiB by default. Ids whose outcome is gone may hold a quarter of it besides, beyond which the oldest are forgotten of the
    /// tokens and chats with the most.
    pub bytes: usize,
    /// The most bytes of the arguments of a call that are kept with its outcome; 0 by default: none are kept. Larger arguments are
    /// not kept. A list of calls can then be searched for a text in them.
    pub arguments: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            keep: hour,
            keep_per_chat: 256,
            tombstone: 24 * hour,
            tombstones_per_chat: 4096,
            bytes: 256 << 20,
            arguments: 0,
        }
    }
}

/// The bytes counted for the id of a call whose outcome is gone.
const ID: usize = 200;

impl Limits {
    /// Returns the arguments of a call as they are kept, if they are.
    pub(in crate::call) fn kept(&self, arguments: &Arguments) -> Option<String> {
        let text = arguments.as_str();
        (text.len() <= self.arguments).then(|| text.to_owned())
    }

    /// Returns the limits of a store.
    pub(in crate::call) fn of_store(&self) -> toolhost_store::Limits {
        toolhost_store::Limits {
            keep: self.keep,
            keep_per_chat: self.keep_per_chat as u64,
            tombstone: self.tombstone,
            outcome_bytes: self.bytes as u64,
            ids: (self.bytes / 4 / ID) as u64,
        }
    }
}
