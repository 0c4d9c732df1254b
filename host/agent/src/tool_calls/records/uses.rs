//! The memory that recorded tool calls use: in all, for each token, and for each chat.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use toolhost_state::id::ChatId;

/// The most bytes of records with their answers: in all, for one token, and for one chat.
pub(super) const BYTES: usize = 64 << 20;
pub(super) const BYTES_OF_TOKEN: usize = BYTES / 2;
pub(super) const BYTES_OF_CHAT: usize = BYTES / 4;

/// The most tombstones, which are cancelled tool calls that have not arrived: in all, for one token, and for one chat.
const TOMBSTONES: usize = 8192;
const TOMBSTONES_OF_TOKEN: usize = TOMBSTONES / 2;
pub(super) const TOMBSTONES_OF_CHAT: usize = 256;

/// How much some records use.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    bytes: usize,
    records: usize,
    tombstones: usize,
}

/// A token or a chat whose records use more than its share.
#[derive(Clone, Debug)]
pub(super) enum OverShare {
    Token(Arc<str>),
    Chat(Option<ChatId>),
}

#[derive(Debug, Default)]
pub(super) struct Uses {
    all: Use,
    tokens: HashMap<Arc<str>, Use>,
    chats: HashMap<Option<ChatId>, Use>,
}

impl OverShare {
    pub(super) fn has(&self, token: &Arc<str>, chat: &Option<ChatId>) -> bool {
        match self {
            Self::Token(bound) => bound == token,
            Self::Chat(bound) => bound == chat,
        }
    }
}

impl Use {
    fn add(&mut self, bytes: usize, tombstone: bool) {
        self.bytes += bytes;
        self.records += 1;
        self.tombstones += usize::from(tombstone);
    }

    fn remove(&mut self, bytes: usize, tombstone: bool) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.records = self.records.saturating_sub(1);
        self.tombstones = self.tombstones.saturating_sub(usize::from(tombstone));
    }
}

impl Uses {
    pub(super) fn add(
        &mut self,
        token: &Arc<str>,
        chat: &Option<ChatId>,
        bytes: usize,
        tombstone: bool,
    ) {
        self.all.add(bytes, tombstone);
        let token = self.tokens.entry(Arc::clone(token)).or_default();
        token.add(bytes, tombstone);
        let chat = self.chats.entry(chat.clone()).or_default();
        chat.add(bytes, tombstone);
    }

    pub(super) fn remove(
        &mut self,
        token: &Arc<str>,
        chat: &Option<ChatId>,
        bytes: usize,
        tombstone: bool,
    ) {
        self.all.remove(bytes, tombstone);
        remove_from(&mut self.tokens, token, bytes, tombstone);
        remove_from(&mut self.chats, chat, bytes, tombstone);
    }

    /// Returns a share that is exceeded: that of this chat, or of this token. If all records together are too large, returns
    /// the token that uses the most.
    pub(super) fn exceeded(&self, token: &Arc<str>, chat: &Option<ChatId>) -> Option<OverShare> {
        if of(&self.chats, chat).bytes > BYTES_OF_CHAT {
            return Some(OverShare::Chat(chat.clone()));
        }
        if of(&self.tokens, token).bytes > BYTES_OF_TOKEN {
            return Some(OverShare::Token(Arc::clone(token)));
        }
        if self.all.bytes <= BYTES {
            return None;
        }
        let largest = self.tokens.iter().max_by_key(|(_, uses)| uses.bytes);
        largest.map(|(token, _)| OverShare::Token(Arc::clone(token)))
    }

    /// Returns whether an eighth of a share is free. For a token, an eighth of the total must be free as well.
    pub(super) fn has_room(&self, bound: &OverShare) -> bool {
        let (taken, most) = match bound {
            OverShare::Chat(chat) => return of(&self.chats, chat).bytes <= BYTES_OF_CHAT / 8 * 7,
            OverShare::Token(token) => (of(&self.tokens, token).bytes, BYTES_OF_TOKEN),
        };
        taken <= most / 8 * 7 && self.all.bytes <= BYTES / 8 * 7
    }

    /// Checks that there is room for one more tombstone, or returns the reason why there is none.
    pub(super) fn check_room_for_tombstone(
        &self,
        token: &Arc<str>,
        chat: &Option<ChatId>,
    ) -> Result<(), String> {
        for (uses, most, of) in [
            (of(&self.chats, chat), TOMBSTONES_OF_CHAT, "a chat"),
            (of(&self.tokens, token), TOMBSTONES_OF_TOKEN, "a token"),
            (self.all, TOMBSTONES, "the server"),
        ] {
            if uses.tombstones >= most {
                return Err(format!("{of} has at most {most} of them, each for an hour"));
            }
        }
        Ok(())
    }
}

fn of<K: Eq + Hash>(uses: &HashMap<K, Use>, key: &K) -> Use {
    uses.get(key).copied().unwrap_or_default()
}

fn remove_from<K: Eq + Hash>(uses: &mut HashMap<K, Use>, key: &K, bytes: usize, tombstone: bool) {
    if let Some(found) = uses.get_mut(key) {
        found.remove(bytes, tombstone);
        if found.records == 0 {
            uses.remove(key);
        }
    }
}
