//! The table of notices: those that chats wait for, those that are being delivered, and those of the last day.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhost_call::notice::{Asked, Courier, Delivery, MAX_WAITING, Notice, Told};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::process::Error;

/// The most notices that all chats wait for, or that are being delivered.
const MOST_WAITING: usize = 10_000;

/// How long a notice is kept after something was told, and the most of one chat and of all that are kept so.
const KEPT: Duration = Duration::from_hours(24);
const MOST_KEPT: usize = 128;
const MOST_KEPT_IN_ALL: usize = 20_000;

/// How many notices of one principal are being sent at a time, so that a receiver that hangs holds up no other.
const SENDING: usize = 16;

/// The process of a chat.
pub(super) type Key = (ChatId, String);

/// The notices by their ids.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: BTreeMap<String, Entry>,
    /// How many notices wait or are being delivered.
    unfinished: usize,
    /// The number of what was told last.
    number: u64,
    /// The notices that are being delivered, for each process in the order of their numbers.
    queues: HashMap<Key, VecDeque<String>>,
    /// The places for notices that are being sent, for each principal.
    sending: HashMap<String, Arc<Semaphore>>,
}

#[derive(Debug)]
struct Entry {
    notice: Arc<Notice>,
    /// Is cancelled when the notice is forgotten.
    removed: CancellationToken,
    _guard: DropGuard,
}

impl Entry {
    fn new(notice: Arc<Notice>) -> Self {
        let removed = CancellationToken::new();
        Self {
            notice,
            _guard: removed.clone().drop_guard(),
            removed,
        }
    }
}

impl Table {
    /// Makes the table of stored notices.
    pub(super) fn of(stored: impl Iterator<Item = Notice>) -> Self {
        let mut table = Self::default();
        for notice in stored {
            let number = notice.told.as_ref().map_or(0, |told| told.number);
            table.number = table.number.max(number);
            table.unfinished += usize::from(is_unfinished(&notice));
            let id = notice.id.clone();
            table.entries.insert(id, Entry::new(Arc::new(notice)));
        }
        table
    }

    /// Returns the notices that wait, and those that are to be delivered in the order of their numbers.
    pub(super) fn unfinished(&self) -> (Vec<Arc<Notice>>, Vec<Arc<Notice>>) {
        let all = self.entries.values().map(|entry| &entry.notice);
        let waiting = all.clone().filter(|notice| notice.told.is_none());
        let due = all.filter(|notice| notice.delivery == Delivery::Due);
        let mut due: Vec<_> = due.cloned().collect();
        due.sort_by_key(|notice| number(notice));
        (waiting.cloned().collect(), due)
    }

    /// Adds a notice that waits. Returns whether it is new: a call may ask twice for the same at the same time.
    pub(super) fn add(&mut self, notice: &Arc<Notice>) -> Result<bool, Error> {
        if self.entries.contains_key(&notice.id) {
            return Ok(false);
        }
        let chat = &notice.chat;
        let of_chat = self.entries.values().map(|entry| &entry.notice);
        let unfinished = of_chat.filter(|other| is_unfinished(other) && other.chat == *chat);
        if unfinished.count() >= MAX_WAITING {
            return Err(Error::Limit(format!(
                "the chat waits for {MAX_WAITING} notices, or they are being delivered, which is the most"
            )));
        }
        if self.unfinished >= MOST_WAITING {
            return Err(Error::Limit(format!(
                "all chats wait for {MOST_WAITING} notices, or they are being delivered, which is the most"
            )));
        }
        self.unfinished += 1;
        let entry = Entry::new(Arc::clone(notice));
        self.entries.insert(notice.id.clone(), entry);
        Ok(true)
    }

    /// Returns a notice.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Notice>> {
        self.entries.get(id).map(|entry| Arc::clone(&entry.notice))
    }

    /// Returns the token that is cancelled when a notice is forgotten.
    pub(super) fn removed(&self, id: &str) -> Option<CancellationToken> {
        self.entries.get(id).map(|entry| entry.removed.clone())
    }

    /// Puts a notice in the place of the one with the same id, if that is still there.
    pub(super) fn replace(&mut self, notice: Notice) -> Arc<Notice> {
        let notice = Arc::new(notice);
        if let Some(entry) = self.entries.get_mut(&notice.id) {
            let ends = is_unfinished(&entry.notice) && !is_unfinished(&notice);
            self.unfinished -= usize::from(ends);
            entry.notice = Arc::clone(&notice);
        }
        notice
    }

    /// Forgets a notice.
    pub(super) fn remove(&mut self, id: &str) {
        if let Some(entry) = self.entries.remove(id) {
            self.unfinished -= usize::from(is_unfinished(&entry.notice));
        }
    }

    /// Notes what happened to the process of a notice, and returns the notice; `None` if it does not wait any more.
    pub(super) fn tell(
        &mut self,
        id: &str,
        told: Told,
        courier: Option<&dyn Courier>,
    ) -> Option<Arc<Notice>> {
        let notice = self.get(id).filter(|notice| notice.told.is_none())?;
        self.number += 1;
        let is_served = courier.is_some_and(|courier| courier.serves(&notice.principal));
        let delivery = match is_served {
            true => Delivery::Due,
            false => Delivery::None,
        };
        let number = self.number;
        let told = Some(Told { number, ..told });
        Some(self.replace(Notice {
            told,
            delivery,
            ..(*notice).clone()
        }))
    }

    /// Returns the other notices that wait for the process of a notice.
    pub(super) fn waiting_with(&self, notice: &Notice) -> Vec<Arc<Notice>> {
        let all = self.entries.values().map(|entry| &entry.notice);
        let others = all.filter(|other| {
            let is_of_process = other.process == notice.process && other.chat == notice.chat;
            is_of_process && other.told.is_none() && other.id != notice.id
        });
        others.cloned().collect()
    }

    /// Returns the notices of a chat, in the order in which they were asked for.
    pub(super) fn of_chat(&self, chat: &ChatId) -> Vec<Arc<Notice>> {
        let all = self.entries.values().map(|entry| &entry.notice);
        let mut all: Vec<_> = all.filter(|notice| notice.chat == *chat).cloned().collect();
        all.sort_by_key(|notice| notice.asked_ms);
        all
    }

    /// Puts a notice at the end of the queue of its process. Returns whether the queue was empty.
    pub(super) fn enqueue(&mut self, notice: &Notice) -> bool {
        let key = (notice.chat.clone(), notice.process.clone());
        let queue = self.queues.entry(key).or_default();
        queue.push_back(notice.id.clone());
        queue.len() == 1
    }

    /// Returns the notice at the front of a queue. A queue without one is removed.
    pub(super) fn front(&mut self, key: &Key) -> Option<Arc<Notice>> {
        while let Some(id) = self.queues.get(key).and_then(VecDeque::front) {
            if let Some(notice) = self.get(id) {
                return Some(notice);
            }
            self.leave(key);
        }
        self.queues.remove(key);
        None
    }

    /// Returns the places for notices of a principal that are being sent.
    pub(super) fn sending(&mut self, principal: &str) -> Arc<Semaphore> {
        let places = self.sending.entry(principal.to_owned());
        let places = places.or_insert_with(|| Arc::new(Semaphore::new(SENDING)));
        Arc::clone(places)
    }

    /// Takes the notice at the front out of a queue.
    pub(super) fn leave(&mut self, key: &Key) {
        if let Some(queue) = self.queues.get_mut(key) {
            queue.pop_front();
        }
    }

    /// Takes the notices out that are kept no longer, and returns their ids.
    pub(super) fn take_old(&mut self, now_ms: u64) -> Vec<String> {
        let over = |notice: &&Arc<Notice>| !is_unfinished(notice);
        let all = self.entries.values().map(|entry| &entry.notice);
        let mut done: Vec<_> = all.filter(over).cloned().collect();
        // The latest first.
        done.sort_by_key(|notice| std::cmp::Reverse(number(notice)));
        let kept_ms = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
        let mut of_chats = HashMap::<_, usize>::new();
        let mut old = Vec::new();
        for (place, notice) in done.iter().enumerate() {
            let of_chat = of_chats.entry(&notice.chat).or_default();
            *of_chat += 1;
            let told_ms = notice.told.as_ref().map_or(0, |told| told.at_ms);
            let is_late = told_ms.saturating_add(kept_ms) < now_ms;
            if is_late || *of_chat > MOST_KEPT || place >= MOST_KEPT_IN_ALL {
                old.push(notice.id.clone());
            }
        }
        for id in &old {
            self.remove(id);
        }
        old
    }
}

/// Returns whether a notice waits or is being delivered.
fn is_unfinished(notice: &Notice) -> bool {
    notice.told.is_none() || notice.delivery == Delivery::Due
}

fn number(notice: &Notice) -> u64 {
    notice.told.as_ref().map_or(0, |told| told.number)
}

/// Returns the id of a notice. A call that asks twice for the same gets the same id.
pub(super) fn id_of(asked: &Asked) -> String {
    let by = match &asked.by {
        Some(call) => call.clone(),
        None => CallId::random(),
    };
    let trigger = serde_json::to_string(&asked.trigger).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    for part in [asked.chat.as_str(), by.as_str(), &asked.process, &trigger] {
        hasher.update(part.as_bytes()).update(b"\0");
    }
    let hash = hasher.finalize().to_hex();
    format!("notice_{}", &hash[..32])
}
