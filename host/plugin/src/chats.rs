//! The limit on concurrent calls of one chat in one plugin.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use toolhost_state::id::ChatId;

/// The number of running calls of each chat; chats without one are left out.
#[derive(Debug, Default)]
pub(super) struct Chats(Mutex<HashMap<ChatId, usize>>);

/// The permit of one call, which is released when this is dropped.
#[derive(Debug)]
pub(super) struct ChatPermit {
    chats: Arc<Chats>,
    chat: ChatId,
}

impl Chats {
    /// Takes one of the `most` permits of a chat; `None` if all are taken.
    pub(super) fn take(self: &Arc<Self>, chat: &ChatId, most: usize) -> Option<ChatPermit> {
        let mut running = self.0.lock();
        let count = running.get(chat).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        running.insert(chat.clone(), count + 1);
        Some(ChatPermit {
            chats: Arc::clone(self),
            chat: chat.clone(),
        })
    }
}

impl Drop for ChatPermit {
    fn drop(&mut self) {
        let mut running = self.chats.0.lock();
        if let Some(count) = running.get_mut(&self.chat) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.chat);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chat_has_places_of_its_own() {
        let chats = Arc::new(Chats::default());
        let (a, b) = ("a".parse().unwrap(), "b".parse().unwrap());
        let first = chats.take(&a, 2).unwrap();
        let second = chats.take(&a, 2).unwrap();
        assert!(chats.take(&a, 2).is_none());
        assert!(chats.take(&b, 2).is_some());
        drop(first);
        assert!(chats.take(&a, 2).is_some());
        drop(second);
        assert!(chats.0.lock().is_empty());
        assert!(chats.take(&a, 0).is_none());
    }
}
