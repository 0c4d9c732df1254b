//! The buffers of all chats, and the bounds of them together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;
use tokio::time::Instant;

use super::buffer::{At, Buffer, Found};
use super::{Event, Position, Reset, Shared, Subject};
use toolhost_state::id::{CallId, ChatId};

#[derive(Debug)]
pub(super) struct Hub {
    chats: HashMap<ChatId, Buffer>,
    /// The bytes of all buffers together.
    bytes: usize,
    readers: usize,
    /// The greatest event number of all forgotten buffers: a new buffer of such a chat must not use its numbers again.
    floor: u64,
    /// When the last sweep for forgettable buffers began.
    swept: Instant,
    closed: bool,
}

/// Why a reader is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The chat has as many readers as it may have.
    #[error("{0} readers follow this chat, which is the most: close one first")]
    Chat(usize),
    /// All chats together have as many readers as they may have.
    #[error("{0} readers follow chats of this server, which is the most: try again later")]
    All(usize),
}

/// Where a listener begins.
#[derive(Debug)]
pub(super) struct StartPosition {
    pub(super) at: At,
    pub(super) reset: Option<Reset>,
    pub(super) changed: watch::Receiver<()>,
}

impl Hub {
    pub(super) fn new() -> Self {
        Self {
            chats: HashMap::new(),
            bytes: 0,
            readers: 0,
            floor: 0,
            swept: Instant::now(),
            closed: false,
        }
    }

    pub(super) fn chats(&self) -> usize {
        self.chats.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn readers(&self) -> usize {
        self.readers
    }

    /// Adds an event.
    pub(super) fn publish(&mut self, chat: &ChatId, event: Event, shared: &Shared) {
        self.add(chat, shared, |_| event);
    }

    /// Adds an event about a process. `call` returns the call of the process, and is asked only if the process is new here.
    pub(super) fn publish_of(
        &mut self,
        chat: &ChatId,
        process: &str,
        call: impl FnOnce() -> Option<CallId>,
        event: impl FnOnce(Arc<Subject>) -> Event,
        shared: &Shared,
    ) {
        self.add(chat, shared, |buffer| {
            let event = event(buffer.subject(process, call));
            if let Event::Process { state, .. } = &event
                && !state.is_live()
            {
                buffer.over(process);
            }
            event
        });
    }

    /// Adds output to an event that is there, if there is one that it can join.
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

    fn add(&mut self, chat: &ChatId, shared: &Shared, event: impl FnOnce(&mut Buffer) -> Event) {
        if self.closed {
            return;
        }
        self.sweep(shared);
        let buffer = self.buffer(chat);
        let before = buffer.bytes();
        let event = event(buffer);
        buffer.push(event);
        let dropped = buffer.shrink(shared.limits.per_chat);
        let after = buffer.bytes();
        self.bytes = (self.bytes + after).saturating_sub(before);
        shared.counters.published.fetch_add(1, Ordering::Relaxed);
        let count = |dropped| {
            shared
                .counters
                .dropped
                .fetch_add(dropped, Ordering::Relaxed)
        };
        count(dropped);
        if self.bytes > shared.limits.total {
            count(self.make_room(chat, shared.limits.total));
        }
    }

    fn buffer(&mut self, chat: &ChatId) -> &mut Buffer {
        match self.chats.entry(chat.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                // One number is skipped: a listener that heard the last event before cannot know whether others followed.
                let buffer = Buffer::new(chat, self.floor + 1);
                self.bytes += buffer.bytes();
                vacant.insert(buffer)
            }
        }
    }

    /// Empties the buffers of the chats that were silent for longest, until an eighth of the room is free. The buffer of the
    /// chat `except` stays. Returns how many events were dropped.
    fn make_room(&mut self, except: &ChatId, total: usize) -> u64 {
        let enough = total - total / 8;
        let mut silent: Vec<_> = self
            .chats
            .iter()
            .filter(|(chat, _)| *chat != except)
            .map(|(chat, buffer)| (buffer.active, chat.clone()))
            .collect();
        silent.sort_unstable_by_key(|(active, _)| *active);
        let mut dropped = 0;
        for (_, chat) in silent {
            if self.bytes <= enough {
                break;
            }
            let Some(buffer) = self.chats.get_mut(&chat) else {
                continue;
            };
            let before = buffer.bytes();
            dropped += buffer.clear();
            self.bytes = (self.bytes + buffer.bytes()).saturating_sub(before);
            if buffer.listeners == 0 {
                self.forget(&chat);
            }
        }
        dropped
    }

    /// Forgets, from time to time, the chats that were silent for long and have no listener.
    fn sweep(&mut self, shared: &Shared) {
        let kept = shared.limits.kept;
        if self.swept.elapsed() < kept / 16 {
            return;
        }
        self.swept = Instant::now();
        let old: Vec<_> = self
            .chats
            .iter()
            .filter(|(_, buffer)| buffer.listeners == 0 && buffer.active.elapsed() > kept)
            .map(|(chat, _)| chat.clone())
            .collect();
        for chat in old {
            self.forget(&chat);
        }
    }

    fn forget(&mut self, chat: &ChatId) {
        if let Some(buffer) = self.chats.remove(chat) {
            self.bytes = self.bytes.saturating_sub(buffer.bytes());
            self.floor = self.floor.max(buffer.last());
        }
    }

    /// Adds a listener: after a position, or from now on.
    pub(super) fn listen(
        &mut self,
        chat: &ChatId,
        after: Option<Position>,
        shared: &Shared,
    ) -> StartPosition {
        self.sweep(shared);
        let buffer = self.buffer(chat);
        buffer.listeners += 1;
        let kept = At::after(buffer.dropped());
        let (at, reset) = match after {
            None => (buffer.end(), None),
            Some(after) if after.epoch != shared.epoch(chat) || after.number > buffer.last() => {
                (kept, Some(Reset::Unknown))
            }
            Some(after) => {
                let at = match after.part {
                    None => buffer.whole(after.number),
                    part => At {
                        number: after.number,
                        part,
                    },
                };
                match buffer.after(at) {
                    Found::Dropped(_) => (kept, Some(Reset::Expired)),
                    Found::Event(..) | Found::Nothing => (at, None),
                }
            }
        };
        StartPosition {
            at,
            reset,
            changed: buffer.changed.subscribe(),
        }
    }

    /// As [`Hub::listen`], for a reader, which counts against the limits.
    pub(super) fn read(
        &mut self,
        chat: &ChatId,
        after: Option<Position>,
        shared: &Shared,
    ) -> Result<StartPosition, Refused> {
        let limits = &shared.limits;
        let of_chat = self.chats.get(chat).map_or(0, |buffer| buffer.readers);
        let refused = if of_chat >= limits.readers_per_chat {
            Some(Refused::Chat(limits.readers_per_chat))
        } else {
            (self.readers >= limits.readers).then_some(Refused::All(limits.readers))
        };
        if let Some(refused) = refused {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(refused);
        }
        let place = self.listen(chat, after, shared);
        self.readers += 1;
        self.buffer(chat).readers += 1;
        Ok(place)
    }

    /// Removes a listener.
    pub(super) fn leave(&mut self, chat: &ChatId, reader: bool) {
        let Some(buffer) = self.chats.get_mut(chat) else {
            return;
        };
        buffer.listeners = buffer.listeners.saturating_sub(1);
        if reader {
            buffer.readers = buffer.readers.saturating_sub(1);
            self.readers = self.readers.saturating_sub(1);
        }
        if buffer.listeners == 0 && buffer.is_unused() {
            self.forget(chat);
        }
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
