//! The progress of calls on its way to other hosts.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::Notify;
use toolhost_state::id::{CallId, ChatId};

use super::Event;

/// The last progress of each call that was not taken yet. Progress replaces earlier progress of its call, so a slow taker delays no call.
#[derive(Debug, Default)]
pub struct Relay {
    waiting: Mutex<HashMap<(ChatId, CallId), Event>>,
    added: Notify,
}

impl Relay {
    pub(super) fn add(&self, chat: &ChatId, call: &CallId, progress: &Event) {
        let key = (chat.clone(), call.clone());
        self.waiting.lock().insert(key, progress.clone());
        self.added.notify_one();
    }

    /// Waits for progress, and takes all of it, with the chats of the calls. Cancel safe.
    pub async fn take(&self) -> Vec<(ChatId, Event)> {
        loop {
            let taken = std::mem::take(&mut *self.waiting.lock());
            if !taken.is_empty() {
                let taken = taken.into_iter();
                return taken.map(|((chat, _), event)| (chat, event)).collect();
            }
            self.added.notified().await;
        }
    }
}
