//! The accounting of saved bytes: the quota that each output uses, and the outputs that are removed to make room.

use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

/// The bytes of all outputs. It counts the bytes that were promised to an output: its file has them or will have them.
///
/// It knows outputs and chats by numbers, and returns the `T` of each output that must be removed.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    per_chat: u64,
    limit: u64,
    total: u64,
    chats: HashMap<u64, Chat>,
    /// The outputs that hold at least one byte.
    outputs: HashMap<u64, Held<T>>,
    closed: BTreeSet<Age>,
}

/// The time at which an output was closed, and its number: the oldest comes first.
type Age = (SystemTime, u64);

#[derive(Debug, Default)]
struct Chat {
    bytes: u64,
    closed: BTreeSet<Age>,
}

#[derive(Debug)]
struct Held<T> {
    output: T,
    chat: u64,
    bytes: u64,
    closed: Option<Age>,
}

impl<T> Ledger<T> {
    /// Makes an empty ledger with limits in bytes.
    pub(super) fn new(per_chat: u64, limit: u64) -> Self {
        Self {
            per_chat,
            limit,
            total: 0,
            chats: HashMap::new(),
            outputs: HashMap::new(),
            closed: BTreeSet::new(),
        }
    }

    /// Promises as many of the `wanted` bytes to an output as fit. If they do not fit, the oldest closed outputs of the
    /// chat make room first, or of any chat if the total is at its limit. They are forgotten here; the caller deletes
    /// them.
    pub(super) fn reserve(
        &mut self,
        id: u64,
        chat: u64,
        wanted: u64,
        output: impl FnOnce() -> T,
    ) -> (u64, Vec<T>) {
        let mut evicted = Vec::new();
        while self.chat_room(chat) < wanted
            && let Some((_, oldest)) = self.chats.get(&chat).and_then(|chat| chat.closed.first())
        {
            evicted.extend(self.forget(*oldest));
        }
        while self.total_room() < wanted
            && let Some((_, oldest)) = self.closed.first()
        {
            evicted.extend(self.forget(*oldest));
        }
        let granted = wanted.min(self.chat_room(chat)).min(self.total_room());
        self.add(id, chat, granted, output);
        (granted, evicted)
    }

    /// Counts bytes of an output, whatever the limits are: for bytes that are on disk already.
    pub(super) fn add(&mut self, id: u64, chat: u64, bytes: u64, output: impl FnOnce() -> T) {
        if bytes == 0 {
            return;
        }
        let held = self.outputs.entry(id).or_insert_with(|| Held {
            output: output(),
            chat,
            bytes: 0,
            closed: None,
        });
        held.bytes = held.bytes.saturating_add(bytes);
        let chat = self.chats.entry(chat).or_default();
        chat.bytes = chat.bytes.saturating_add(bytes);
        self.total = self.total.saturating_add(bytes);
    }

    /// Marks an output as closed: from now on it may be removed to make room, the oldest first. Does nothing for an output
    /// without a byte.
    pub(super) fn close(&mut self, id: u64, at: SystemTime) {
        if let Some(held) = self.outputs.get_mut(&id)
            && held.closed.is_none()
        {
            held.closed = Some((at, id));
            self.closed.insert((at, id));
            let chat = self.chats.entry(held.chat).or_default();
            chat.closed.insert((at, id));
        }
    }

    /// Gives bytes of an output back. If the output was forgotten, its bytes were given back then.
    pub(super) fn release(&mut self, id: u64, bytes: u64) {
        let Some(held) = self.outputs.get_mut(&id) else {
            return;
        };
        if bytes >= held.bytes {
            self.forget(id);
            return;
        }
        held.bytes -= bytes;
        self.total = self.total.saturating_sub(bytes);
        if let Some(chat) = self.chats.get_mut(&held.chat) {
            chat.bytes = chat.bytes.saturating_sub(bytes);
        }
    }

    /// Gives everything of an output back.
    pub(super) fn forget(&mut self, id: u64) -> Option<T> {
        let held = self.outputs.remove(&id)?;
        self.total = self.total.saturating_sub(held.bytes);
        if let Some(age) = &held.closed {
            self.closed.remove(age);
        }
        if let Some(chat) = self.chats.get_mut(&held.chat) {
            chat.bytes = chat.bytes.saturating_sub(held.bytes);
            if let Some(age) = &held.closed {
                chat.closed.remove(age);
            }
            if chat.bytes == 0 {
                self.chats.remove(&held.chat);
            }
        }
        Some(held.output)
    }

    /// Gives everything of a chat back, and returns its outputs that held a byte.
    pub(super) fn forget_chat(&mut self, chat: u64) -> Vec<T> {
        let of_chat = |(id, held): (&u64, &Held<T>)| (held.chat == chat).then_some(*id);
        let ids: Vec<_> = self.outputs.iter().filter_map(of_chat).collect();
        ids.into_iter().filter_map(|id| self.forget(id)).collect()
    }

    /// Returns how many bytes are held in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    fn chat_room(&self, chat: u64) -> u64 {
        let held = self.chats.get(&chat).map_or(0, |chat| chat.bytes);
        self.per_chat.saturating_sub(held)
    }

    fn total_room(&self) -> u64 {
        self.limit.saturating_sub(self.total)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    #[test]
    fn the_oldest_closed_outputs_make_room() {
        let mut ledger = Ledger::new(100, 150);
        for (id, chat) in [(1, 1), (2, 1), (3, 2)] {
            assert_eq!(ledger.reserve(id, chat, 50, || id), (50, vec![]));
        }
        assert_eq!(
            ledger.reserve(4, 2, 10, || 4),
            (0, vec![]),
            "none is closed"
        );
        ledger.close(2, at(1));
        ledger.close(1, at(2));
        ledger.close(3, at(3));
        assert_eq!(
            ledger.reserve(5, 1, 60, || 5),
            (60, vec![2, 1]),
            "of the chat"
        );
        assert_eq!(ledger.reserve(6, 3, 40, || 6), (40, vec![]));
        assert_eq!(ledger.reserve(6, 3, 40, || 6), (40, vec![3]), "of any chat");
        assert_eq!(ledger.reserve(6, 3, 40, || 6), (10, vec![]), "what fits");
        assert_eq!(ledger.forget_chat(3), [6]);
        ledger.release(5, 60);
        assert!(ledger.total() == 0 && ledger.chats.is_empty() && ledger.closed.is_empty());
    }

    proptest! {
        #[test]
        fn the_limits_hold_and_every_byte_comes_back(
            steps in prop::collection::vec((0_u64..12, 0_u64..80, 0_u8..5), 0..200),
        ) {
            let mut ledger = Ledger::new(100, 250);
            for (index, (id, bytes, step)) in steps.into_iter().enumerate() {
                match step {
                    0 => ledger.close(id, at(index as u64)),
                    1 => ledger.release(id, bytes),
                    2 => _ = ledger.forget(id),
                    _ => {
                        let (granted, evicted) = ledger.reserve(id, id % 4, bytes, || id);
                        prop_assert!(granted <= bytes);
                        prop_assert!(evicted.iter().all(|evicted| granted > 0 || *evicted != id));
                    }
                }
                prop_assert!(ledger.total <= 250);
                prop_assert!(ledger.chats.values().all(|chat| chat.bytes <= 100));
                let held: u64 = ledger.outputs.values().map(|held| held.bytes).sum();
                prop_assert_eq!(held, ledger.total);
            }
            for chat in 0..4 {
                ledger.forget_chat(chat);
            }
            prop_assert!(ledger.total() == 0 && ledger.chats.is_empty() && ledger.closed.is_empty());
        }
    }
}
