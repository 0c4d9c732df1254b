//! Records of tool calls: each is kept for an hour, within bounds for a chat, a token and all together.

mod uses;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Answer;
use crate::chat::Chat;
use crate::error::ApiError;
use toolhost_state::id::ChatId;
use uses::{OverShare, Uses};

/// How long a tool call is remembered from its first request or its cancellation on.
const AGE: Duration = Duration::from_secs(60 * 60);

/// The longest answer that is kept, in bytes.
const MAX_ANSWER: usize = 4 << 20;

/// The answers to requests that did nothing.
const UNDONE: [StatusCode; 2] = [
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// The bytes of a record besides its texts.
const OVERHEAD: usize = 256;

/// The name of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    chat: Option<ChatId>,
    call: String,
}

/// The future answer of a running request.
type Coming = Shared<oneshot::Receiver<Answer>>;

/// The state of a tool call when a request names it.
pub(super) enum Begun {
    /// The request is the first. Its answer goes to all repeats.
    New(oneshot::Sender<Answer>, Coming),
    /// The first is under way.
    Running(Coming),
    /// The first was answered.
    Answered(Answer),
}

/// The state of a call that a cancellation met.
pub(super) enum Cancelled {
    /// No request is known. A request that arrives is refused.
    NotReceived,
    Running(Coming),
    Answered(Answer),
}

#[derive(Debug)]
struct Record {
    token: Arc<str>,
    added: Instant,
    cancelled: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No request has arrived; a request that arrives is refused.
    Tombstone,
    Running(blake3::Hash, Coming),
    Answered(blake3::Hash, Answer),
    /// The answer is no longer kept.
    Dropped(blake3::Hash),
}

/// The tool calls that are remembered.
#[derive(Debug, Default)]
pub(super) struct Records {
    by_key: HashMap<Key, Record>,
    /// The keys of the records, oldest first. A record may already be removed from `by_key`.
    order: VecDeque<(Instant, Key)>,
    uses: Uses,
}

impl Key {
    pub(super) fn new(chat: &Chat, call: &str) -> Self {
        Self {
            chat: chat.id.clone(),
            call: call.to_owned(),
        }
    }
}

impl Record {
    fn bytes(&self, key: &Key) -> usize {
        let chat = key.chat.as_ref().map_or(0, |chat| chat.as_str().len());
        let answer = match &self.state {
            State::Answered(_, answer) => answer.body.len(),
            State::Tombstone | State::Running(..) | State::Dropped(_) => 0,
        };
        OVERHEAD + chat + key.call.len() + answer
    }

    fn is_tombstone(&self) -> bool {
        matches!(self.state, State::Tombstone)
    }

    /// Returns whether the record may be removed before it expires.
    fn is_over(&self) -> bool {
        matches!(self.state, State::Answered(..) | State::Dropped(_))
    }
}

impl Records {
    /// Looks a request up, and takes it in if it is the first of its tool call.
    ///
    /// # Errors
    ///
    /// If the tool call was cancelled, or if the request differs from the first.
    pub(super) fn begin(
        &mut self,
        key: &Key,
        token: &Arc<str>,
        request: blake3::Hash,
    ) -> Result<Begun, ApiError> {
        self.forget_old();
        let Some(record) = self.by_key.get(key) else {
            let (finish, answer) = oneshot::channel();
            let answer = answer.shared();
            self.add(key, token, State::Running(request, answer.clone()));
            return Ok(Begun::New(finish, answer));
        };
        let (first, begun) = match &record.state {
            _ if record.cancelled => return Err(ApiError::canceled()),
            State::Tombstone => return Err(ApiError::canceled()),
            State::Running(first, answer) => (first, Begun::Running(answer.clone())),
            State::Answered(first, answer) => (first, Begun::Answered(answer.clone())),
            State::Dropped(first) => (first, Begun::Answered(Answer::gone())),
        };
        if *first != request {
            return Err(ApiError::other_request(&key.call));
        }
        Ok(begun)
    }

    /// Keeps the answer of a first request. A refusal for lack of capacity, or because the workspace cannot be reached, is not kept:
    /// nothing was done, and the request may be repeated.
    pub(super) fn finish(&mut self, key: &Key, answer: &Answer) {
        let Some(mut record) = self.take(key) else {
            return;
        };
        let State::Running(request, _) = record.state else {
            return self.put(key, record);
        };
        let is_undone = UNDONE.contains(&answer.status);
        record.state = match (is_undone, record.cancelled) {
            (true, true) => State::Tombstone,
            (true, false) => return,
            (false, _) if answer.body.len() > MAX_ANSWER => State::Dropped(request),
            (false, _) => State::Answered(request, answer.clone()),
        };
        let token = Arc::clone(&record.token);
        self.put(key, record);
        while let Some(bound) = self.uses.exceeded(&token, &key.chat) {
            if !self.trim(&bound) {
                return;
            }
        }
    }

    /// Notes that a tool call was cancelled.
    ///
    /// # Errors
    ///
    /// If the tool call is unknown, and there are too many tombstones already.
    pub(super) fn cancel(&mut self, key: &Key, token: &Arc<str>) -> Result<Cancelled, ApiError> {
        self.forget_old();
        let Some(record) = self.by_key.get_mut(key) else {
            self.uses
                .check_room_for_tombstone(token, &key.chat)
                .map_err(|detail| {
                    let message = "Too many tool calls were canceled that have not arrived.";
                    ApiError::new(StatusCode::TOO_MANY_REQUESTS, message).detail(detail)
                })?;
            self.add(key, token, State::Tombstone);
            return Ok(Cancelled::NotReceived);
        };
        record.cancelled = true;
        Ok(match &record.state {
            State::Tombstone => Cancelled::NotReceived,
            State::Running(_, answer) => Cancelled::Running(answer.clone()),
            State::Answered(_, answer) => Cancelled::Answered(answer.clone()),
            State::Dropped(_) => Cancelled::Answered(Answer::gone()),
        })
    }

    fn add(&mut self, key: &Key, token: &Arc<str>, state: State) {
        let added = Instant::now();
        let cancelled = matches!(state, State::Tombstone);
        let record = Record {
            token: Arc::clone(token),
            added,
            cancelled,
            state,
        };
        self.put(key, record);
        self.order.push_back((added, key.clone()));
    }

    /// Removes the records that are older than [`AGE`]. A running tool call gets another period of that length.
    fn forget_old(&mut self) {
        while self
            .order
            .front()
            .is_some_and(|(added, _)| added.elapsed() > AGE)
        {
            let Some((added, key)) = self.order.pop_front() else {
                return;
            };
            let record = self.by_key.get_mut(&key);
            match record.filter(|record| record.added == added) {
                Some(record) if matches!(record.state, State::Running(..)) => {
                    record.added = Instant::now();
                    self.order.push_back((record.added, key));
                }
                Some(_) => _ = self.take(&key),
                None => {}
            }
        }
    }

    /// Drops the oldest answers of a share that is exceeded, and then the oldest records, until an eighth of it is free. Returns
    /// whether anything was dropped.
    fn trim(&mut self, bound: &OverShare) -> bool {
        let over = self
            .by_key
            .iter()
            .filter(|(key, record)| record.is_over() && bound.has(&record.token, &key.chat));
        let mut over: Vec<_> = over
            .map(|(key, record)| (record.added, key.clone()))
            .collect();
        over.sort_by_key(|(added, _)| *added);
        let mut dropped = false;
        for keep in [true, false] {
            for (_, key) in &over {
                if self.uses.has_room(bound) {
                    return true;
                }
                let Some(mut record) = self.take(key) else {
                    continue;
                };
                dropped = true;
                if let (true, State::Answered(request, _)) = (keep, &record.state) {
                    record.state = State::Dropped(*request);
                }
                if keep {
                    self.put(key, record);
                }
            }
        }
        dropped
    }

    fn put(&mut self, key: &Key, record: Record) {
        let (bytes, tombstone) = (record.bytes(key), record.is_tombstone());
        self.uses.add(&record.token, &key.chat, bytes, tombstone);
        self.by_key.insert(key.clone(), record);
    }

    fn take(&mut self, key: &Key) -> Option<Record> {
        let record = self.by_key.remove(key)?;
        let (bytes, tombstone) = (record.bytes(key), record.is_tombstone());
        self.uses.remove(&record.token, &key.chat, bytes, tombstone);
        Some(record)
    }
}

#[cfg(test)]
mod tests;
