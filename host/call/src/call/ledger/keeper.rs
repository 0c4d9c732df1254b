//! The records of calls: the store, and the changes that wait because it could not be written.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use toolhost_store::{Begun, Durability, EndedCall, Fence, Fenced, NewCall, Store, StoreError};

use super::answer::Key;
use super::past::{Past, read, set};
use crate::call::{Refused, ToolSet, includes, union};

/// The most changes that wait to be stored. The oldest beyond are unknown to the next start.
const MAX_UNWRITTEN: usize = 8192;

/// The most bytes of outcomes that wait to be stored.
const MAX_BYTES: usize = 64 << 20;

/// Stores what happens to calls.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) store: Arc<dyn Store>,
    durability: Durability,
    /// Changes that could not be stored, oldest first. They are stored as soon as the store takes one.
    unwritten: Mutex<Unwritten>,
    /// Held by the one that stores them.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Unwritten {
    changes: VecDeque<(u64, Change)>,
    bytes: usize,
    next: u64,
}

/// A change that could not be stored.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Begun(NewCall),
    Ended(EndedCall),
    Fenced(Fence),
}

impl Change {
    fn is_of(&self, key: &Key) -> bool {
        let (chat, call) = match self {
            Self::Begun(call) | Self::Ended(EndedCall { call, .. }) => (&call.chat, &call.call),
            Self::Fenced(fence) => (&fence.chat, &fence.call),
        };
        *chat == key.0 && *call == key.1
    }

    fn size(&self) -> usize {
        match self {
            Self::Ended(ended) => ended.outcome.len(),
            Self::Begun(_) | Self::Fenced(_) => 0,
        }
    }
}

/// The result of a cancellation of a call that does not run.
#[derive(Debug)]
pub(super) enum Cancelling {
    /// It had ended.
    Over(Past),
    /// It has not arrived, or is of a tool that the caller may not use.
    Tombstone,
    /// The chat has too many tombstones.
    TooMany,
}

impl Keeper {
    pub(super) fn new(store: Arc<dyn Store>, durability: Durability) -> Self {
        Self {
            store,
            durability,
            unwritten: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the record of a call that does not run.
    pub(super) async fn past(&self, key: &Key) -> Result<Option<Past>, StoreError> {
        let (ended, fence) = self.waiting(key);
        let past = match ended {
            Some(ended) => Some(Past::Ended {
                digest: ended.call.digest,
                tombstone: ended.cancelled,
                outcome: read(&ended.outcome),
            }),
            None => {
                let known = self.store.call(key.0.clone(), key.1.clone()).await?;
                known.map(Past::of)
            }
        };
        Ok(match (past, fence) {
            (past, None) => past,
            (
                Some(Past::Ended {
                    digest, outcome, ..
                }),
                Some(_),
            ) => Some(Past::Ended {
                digest,
                tombstone: true,
                outcome,
            }),
            (Some(Past::Lost), Some(_)) => Some(Past::Lost),
            (Some(Past::Tombstone { tools }), Some(fence)) => Some(Past::Tombstone {
                tools: union(&tools, &fence),
            }),
            (None, Some(tools)) => Some(Past::Tombstone { tools }),
        })
    }

    /// Returns the end of a call that waits to be stored, and the tools of its cancellations that do.
    fn waiting(&self, key: &Key) -> (Option<EndedCall>, Option<ToolSet>) {
        let unwritten = self.unwritten.lock();
        let (mut ended, mut fence) = (None, None::<ToolSet>);
        for (_, change) in unwritten.changes.iter().filter(|(_, one)| one.is_of(key)) {
            match change {
                Change::Begun(_) => {}
                // A tombstone that the call ran in spite of was for other tools.
                Change::Ended(end) => (ended, fence) = (Some(end.clone()), None),
                Change::Fenced(one) => {
                    let tools = set(one.tools.clone());
                    fence = Some(fence.map_or_else(|| tools.clone(), |all| union(&all, &tools)));
                }
            }
        }
        (ended, fence)
    }

    /// Stores that a call is about to run. Only [`Begun::New`] permits that.
    pub(super) async fn begin(&self, call: NewCall) -> Result<Begun, Refused> {
        let stored = match self.catch_up().await {
            Ok(()) => self.store.begin(call.clone()).await,
            Err(error) => Err(error),
        };
        match stored {
            Err(error) if self.may_wait(&error) => {
                self.keep(Change::Begun(call));
                Ok(Begun::New)
            }
            stored => stored.map_err(|error| Refused::Unrecorded(text(&error))),
        }
    }

    /// Stores how a call ended. If the end cannot be stored now, it is stored as soon as it can be. The caller is told all the
    /// same.
    pub(super) async fn end(&self, ended: EndedCall) {
        let stored = match self.catch_up().await {
            Ok(()) => self.store.end(ended.clone()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(chat = %ended.call.chat, call = %ended.call.call, error = text(&error), "the end of a call cannot be stored now");
            self.keep(Change::Ended(ended));
        }
    }

    /// Stores the cancellation of a call that runs. A failure does no harm: the call has begun, and does not run again.
    pub(super) async fn cancel_running(&self, fence: Fence) {
        let stored = match self.catch_up().await {
            Ok(()) => self.store.cancel(fence.clone()).await.map(drop),
            Err(error) => Err(error),
        };
        if stored.is_err_and(|error| self.may_wait(&error)) {
            self.keep(Change::Fenced(fence));
        }
    }

    /// Cancels a call that does not run.
    pub(super) async fn cancel(&self, fence: Fence) -> Result<Cancelling, Refused> {
        let stored = match self.catch_up().await {
            Ok(()) => self.store.cancel(fence.clone()).await,
            Err(error) => Err(error),
        };
        match stored {
            Ok(Fenced::Known(call)) => Ok(Cancelling::Over(Past::of(*call))),
            Ok(Fenced::Fenced(_) | Fenced::Foreign) => Ok(Cancelling::Tombstone),
            Ok(Fenced::TooMany) => Ok(Cancelling::TooMany),
            Err(error) if self.may_wait(&error) => self.cancel_later(fence).await,
            Err(error) => Err(Refused::Unrecorded(text(&error))),
        }
    }

    /// Keeps a cancellation until it can be stored.
    async fn cancel_later(&self, fence: Fence) -> Result<Cancelling, Refused> {
        let key = (fence.chat.clone(), fence.call.clone());
        let tools = set(fence.tools.clone());
        let unsaid = |error: StoreError| Refused::Unrecorded(text(&error));
        let known = self.past(&key).await.map_err(unsaid)?;
        let done = match known {
            Some(Past::Ended {
                outcome: Some(outcome),
                ..
            }) if !includes(&tools, &outcome.tool) => return Ok(Cancelling::Tombstone),
            Some(past @ (Past::Ended { .. } | Past::Lost)) => Cancelling::Over(past),
            Some(Past::Tombstone { .. }) => Cancelling::Tombstone,
            None => {
                let unwritten = self.unwritten.lock();
                let of_chat = |(_, change): &&(u64, Change)| matches!(change, Change::Fenced(other) if other.chat == fence.chat);
                let waiting = unwritten.changes.iter().filter(of_chat).count();
                if waiting as u64 >= fence.most {
                    return Ok(Cancelling::TooMany);
                }
                Cancelling::Tombstone
            }
        };
        self.keep(Change::Fenced(fence));
        Ok(done)
    }

    /// Stores the changes that could not be stored before, as far as possible.
    ///
    /// # Errors
    ///
    /// If some are left.
    pub(super) async fn catch_up(&self) -> Result<(), StoreError> {
        if self.unwritten.lock().changes.is_empty() {
            return Ok(());
        }
        let _alone = self.writing.lock().await;
        loop {
            let Some((number, change)) = self.unwritten.lock().changes.front().cloned() else {
                return Ok(());
            };
            let stored = match change {
                Change::Begun(call) => self.store.begin(call).await.map(drop),
                Change::Ended(ended) => self.store.end(ended).await,
                Change::Fenced(fence) => self.store.cancel(fence).await.map(drop),
            };
            match stored {
                // A damaged call is unknown, and does not run.
                Err(error @ StoreError::Damaged { .. }) => {
                    tracing::warn!(error = text(&error), "a change of a call cannot be stored");
                }
                Err(error) => return Err(error),
                Ok(()) => {}
            }
            let mut unwritten = self.unwritten.lock();
            if unwritten
                .changes
                .front()
                .is_some_and(|(at, _)| *at == number)
            {
                unwritten.pop();
            }
        }
    }

    /// Keeps a change until it can be stored.
    pub(super) fn keep(&self, change: Change) {
        let mut unwritten = self.unwritten.lock();
        while unwritten.changes.len() >= MAX_UNWRITTEN
            || unwritten.bytes + change.size() > MAX_BYTES && !unwritten.changes.is_empty()
        {
            unwritten.pop();
        }
        let number = unwritten.next;
        unwritten.next += 1;
        unwritten.bytes += change.size();
        unwritten.changes.push_back((number, change));
    }

    /// Returns whether a change may be stored later.
    fn may_wait(&self, error: &StoreError) -> bool {
        self.durability == Durability::Host && !matches!(error, StoreError::Damaged { .. })
    }
}

impl Unwritten {
    fn pop(&mut self) {
        if let Some((_, change)) = self.changes.pop_front() {
            self.bytes -= change.size();
        }
    }
}

/// Returns an error with its causes.
pub(super) fn text(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
