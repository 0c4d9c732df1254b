//! The buffers of all chats, and their common limits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};

use tokio::sync::watch;
use tokio::time::Instant;

use super::buffer::{At, Buffer, Found};
use super::{Event, Limits, Position, Reset, Stats};
use toolhost_state::id::ChatId;

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) limits: Limits,
    chats: HashMap<ChatId, Buffer>,
    /// Makes an epoch for each chat, which differs between chats and between starts of the host.
    epochs: RandomState,
    /// The counters, and the bytes and readers of all buffers together.
    pub(super) stats: Stats,
    /// The greatest event number of all forgotten buffers: a new buffer of such a chat must not use its numbers again.
    floor: u64,
    /// When the last sweep for forgettable buffers began.
    swept: Instant,
    closed: bool,
}

/// The reason why a reader is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The chat has as many readers as it may have.
    #[error("{0} readers follow this chat, which is the most: close one first")]
    Chat(usize),
    /// All chats together have as many readers as they may have.
    #[error("{0} readers follow chats of this server, which is the most: try again later")]
    All(usize),
}

/// The state of a listener: its place in the events.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) at: At,
    /// A reset that the listener hears before any other event.
    pub(super) reset: Option<Reset>,
    pub(super) changed: watch::Receiver<()>,
}

impl Hub {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            chats: HashMap::new(),
            epochs: RandomState::new(),
            stats: Stats::default(),
            floor: 0,
            swept: Instant::now(),
            closed: false,
        }
    }

    pub(super) fn stats(&self) -> Stats {
        let chats = self.chats.len();
        Stats {
            chats,
            ..self.stats
        }
    }

    /// Returns the number that stands for this start and this chat.
    pub(super) fn epoch(&self, chat: &ChatId) -> u64 {
        self.epochs.hash_one(chat)
    }

    /// Adds output to an earlier event, if it can join one.
    pub(super) fn extend(
        &mut self,
        chat: &ChatId,
        process: &str,
        offset: u64,
        length: u64,
    ) -> bool {
        let buffer = self.chats.get_mut(chat);
        buffer.is_some_and(|buffer| buffer.extend(process, offset, length))
    }

    /// Adds an event.
    pub(super) fn publish(&mut self, chat: &ChatId, event: impl FnOnce(&mut Buffer) -> Event) {
        if self.closed {
            return;
        }
        self.sweep();
        let Limits {
            per_chat, total, ..
        } = self.limits;
        let buffer = self.buffer(chat);
        let before = buffer.bytes;
        let event = event(buffer);
        buffer.push(event);
        let dropped = buffer.shrink(per_chat);
        let after = buffer.bytes;
        self.stats.bytes = (self.stats.bytes + after).saturating_sub(before);
        self.stats.published += 1;
        self.stats.dropped += dropped;
        if self.stats.bytes > total {
            self.make_room(chat, total - total / 8);
        }
    }

    fn buffer(&mut self, chat: &ChatId) -> &mut Buffer {
        match self.chats.entry(chat.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                // One number is skipped: a listener that heard the last event before cannot know whether others followed.
                let buffer = Buffer::new(chat, self.floor + 1);
                self.stats.bytes += buffer.bytes;
                vacant.insert(buffer)
            }
        }
    }

    /// Empties the buffers of the chats that were silent for longest, until all have this many bytes. The buffer of the chat
    /// `except` stays.
    fn make_room(&mut self, except: &ChatId, enough: usize) {
        let others = self.chats.iter().filter(|(chat, _)| *chat != except);
        let mut silent: Vec<_> = others
            .map(|(chat, buffer)| (buffer.active, chat.clone()))
            .collect();
        silent.sort_unstable_by_key(|(active, _)| *active);
        for (_, chat) in silent {
            if self.stats.bytes <= enough {
                break;
            }
            let Some(buffer) = self.chats.get_mut(&chat) else {
                continue;
            };
            let before = buffer.bytes;
            self.stats.dropped += buffer.clear();
            self.stats.bytes = (self.stats.bytes + buffer.bytes).saturating_sub(before);
            if buffer.listeners == 0 {
                self.forget(&chat);
            }
        }
    }

    /// Forgets, from time to time, the chats that were silent for long and have no listener.
    fn sweep(&mut self) {
        let kept = self.limits.kept;
        if self.swept.elapsed() < kept / 16 {
            return;
        }
        self.swept = Instant::now();
        let is_old = |buffer: &Buffer| buffer.listeners == 0 && buffer.active.elapsed() > kept;
        let old = self.chats.iter().filter(|(_, buffer)| is_old(buffer));
        let old: Vec<_> = old.map(|(chat, _)| chat.clone()).collect();
        old.iter().for_each(|chat| self.forget(chat));
    }

    fn forget(&mut self, chat: &ChatId) {
        if let Some(buffer) = self.chats.remove(chat) {
            self.stats.bytes = self.stats.bytes.saturating_sub(buffer.bytes);
            self.floor = self.floor.max(buffer.last);
        }
    }

    /// Adds a listener: after a position, or from now on.
    pub(super) fn listen(&mut self, chat: &ChatId, after: Option<Position>) -> Place {
        self.sweep();
        let epoch = self.epoch(chat);
        let buffer = self.buffer(chat);
        buffer.listeners += 1;
        let kept = At::after(buffer.dropped.0);
        let (at, reset) = match after {
            None => (buffer.end(), None),
            Some(after) if after.epoch != epoch || after.number > buffer.last => {
                (kept, Some(Reset::Unknown))
            }
            Some(Position { number, part, .. }) => {
                let at = match part {
                    None => buffer.whole(number),
                    part => At { number, part },
                };
                match buffer.after(at) {
                    Found::Dropped(_) => (kept, Some(Reset::Expired)),
                    Found::Event(..) | Found::Nothing => (at, None),
                }
            }
        };
        Place {
            at,
            reset,
            changed: buffer.changed.subscribe(),
        }
    }

    /// Adds a listener for a reader, which counts against the limits.
    pub(super) fn read(
        &mut self,
        chat: &ChatId,
        after: Option<Position>,
    ) -> Result<Place, Refused> {
        let readers_per_chat = self.limits.readers_per_chat;
        let of_chat = self.chats.get(chat).map_or(0, |buffer| buffer.readers);
        if of_chat >= readers_per_chat {
            self.stats.refused += 1;
            return Err(Refused::Chat(readers_per_chat));
        }
        self.enter()?;
        let place = self.listen(chat, after);
        self.buffer(chat).readers += 1;
        Ok(place)
    }

    /// Counts a reader of all chats together.
    pub(super) fn enter(&mut self) -> Result<(), Refused> {
        let readers = self.limits.readers;
        if self.stats.readers >= readers {
            self.stats.refused += 1;
            return Err(Refused::All(readers));
        }
        self.stats.readers += 1;
        Ok(())
    }

    /// Removes a listener.
    pub(super) fn leave(&mut self, chat: &ChatId, reader: bool) {
        let Some(buffer) = self.chats.get_mut(chat) else {
            return;
        };
        buffer.listeners = buffer.listeners.saturating_sub(1);
        if reader {
            buffer.left = Some(Instant::now());
            buffer.readers = buffer.readers.saturating_sub(1);
            self.stats.readers = self.stats.readers.saturating_sub(1);
        }
        if buffer.listeners == 0 && buffer.is_unused() {
            self.forget(chat);
        }
    }

    /// Returns whether there is a buffer for a chat.
    pub(super) fn has(&self, chat: &ChatId) -> bool {
        self.chats.contains_key(chat)
    }

    pub(super) fn readers(&self, chat: &ChatId) -> usize {
        self.chats.get(chat).map_or(0, |buffer| buffer.readers)
    }

    /// Returns whether a chat has readers, or had some recently.
    pub(super) fn are_read(&self, chat: &ChatId) -> bool {
        let is_recent = |left: Instant| left.elapsed() < self.limits.kept;
        let buffer = self.chats.get(chat);
        buffer.is_some_and(|buffer| buffer.readers > 0 || buffer.left.is_some_and(is_recent))
    }

    /// Returns the event after a place; `None` if there is none, and the hub is closed.
    pub(super) fn after(&mut self, chat: &ChatId, at: At) -> Option<Found> {
        match self.chats.get_mut(chat)?.after(at) {
            Found::Nothing if self.closed => None,
            found => Some(found),
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        for buffer in self.chats.values() {
            buffer.changed.send_replace(());
        }
    }
}
