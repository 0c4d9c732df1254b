//! What happens in the chats, for those who want to hear of it while it does: changes of calls, and what processes do.
//!
//! Each chat has a buffer of its last events, from which a listener that was away goes on. Publishing never waits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::call::State;
use crate::id::{CallId, ChatId};

/// How many events of a chat are kept.
const KEPT: usize = 4096;

/// Where events are published, and heard of. Clones share everything.
#[derive(Clone, Debug, Default)]
pub struct Events {
    chats: Arc<Mutex<HashMap<ChatId, Buffer>>>,
}

/// One thing that happened in a chat.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A call began, or ended.
    Call {
        /// The call.
        call: CallId,
        /// The tool that was called.
        tool: String,
        /// Where the call stands now.
        state: State,
    },
    /// A call has come so far.
    Progress {
        /// The call.
        call: CallId,
        /// How much is done, in a unit of the plugin's choice.
        done: f64,
        /// How much there is to do, if that is known.
        total: Option<f64>,
        /// What a person may read.
        message: Option<String>,
    },
}

/// An event with its place among those of the chat.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// Grows with every event of the chat.
    pub id: u64,
    /// What happened.
    pub event: Event,
}

#[derive(Debug)]
struct Buffer {
    events: VecDeque<Numbered>,
    last: watch::Sender<u64>,
}

impl Events {
    /// Adds an event. Whoever listens hears of it; this waits for nobody.
    pub fn publish(&self, chat: &ChatId, event: Event) {
        let mut chats = self.lock();
        let buffer = chats.entry(chat.clone()).or_insert_with(Buffer::new);
        let id = *buffer.last.borrow() + 1;
        if buffer.events.len() == KEPT {
            buffer.events.pop_front();
        }
        buffer.events.push_back(Numbered { id, event });
        buffer.last.send_replace(id);
    }

    /// Listens to a chat: to what follows the event of this id, or to what happens from now on.
    pub fn listen(&self, chat: &ChatId, after: Option<u64>) -> Listener {
        let mut chats = self.lock();
        let buffer = chats.entry(chat.clone()).or_insert_with(Buffer::new);
        Listener {
            events: self.clone(),
            chat: chat.clone(),
            after: after.unwrap_or_else(|| *buffer.last.borrow()),
            last: buffer.last.subscribe(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChatId, Buffer>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffer {
    fn new() -> Self {
        Self {
            events: VecDeque::new(),
            last: watch::Sender::new(0),
        }
    }
}

/// Hears the events of one chat in order.
#[derive(Debug)]
pub struct Listener {
    events: Events,
    chat: ChatId,
    after: u64,
    last: watch::Receiver<u64>,
}

impl Listener {
    /// Returns the next event, once there is one; `None` if nothing can follow.
    pub async fn next(&mut self) -> Option<Numbered> {
        loop {
            let after = self.after;
            let found = {
                let chats = self.events.lock();
                let buffer = chats.get(&self.chat)?;
                let from = buffer.events.partition_point(|event| event.id <= after);
                buffer.events.get(from).cloned()
            };
            if let Some(found) = found {
                self.after = found.id;
                return Some(found);
            }
            self.last.wait_for(|last| *last > after).await.ok()?;
        }
    }
}
