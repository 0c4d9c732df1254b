//! The records of calls: the store, and the changes that wait because it could not be written.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolhost_store::{
    Answer, Backlog, Begun, Call, CancelAnswer, Cancellation, Durability, EndedCall, Ending,
    NewCall, Store, StoreError,
};

use super::answer::Key;
use super::dropped::Dropped;
use super::past::{Past, read, set};
use crate::call::{Refused, ToolSet, union};
use toolhost_state::id::{CallId, ChatId};

/// The time between two attempts at a store that hosts share.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// Stores what happens to calls.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) store: Arc<dyn Store>,
    durability: Durability,
    /// Changes that could not be stored.
    pub(super) unwritten: Backlog<Change>,
    /// The calls of which a change was dropped, because too many waited.
    dropped: Mutex<Dropped>,
}

/// A change that could not be stored.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// With the number of the call among those that run here; `None` if it ran at an earlier host.
    Ended(EndedCall, Option<i64>),
    Fenced(Cancellation),
    /// The call had no effect, and is to be forgotten.
    Withdrawn(Key),
}

impl Change {
    fn name(&self) -> (&ChatId, &CallId) {
        match self {
            Self::Ended(EndedCall { call, .. }, _) => (&call.chat, &call.call),
            Self::Fenced(fence) => (&fence.chat, &fence.call),
            Self::Withdrawn((chat, call)) => (chat, call),
        }
    }

    pub(super) fn key(&self) -> Key {
        let (chat, call) = self.name();
        (chat.clone(), call.clone())
    }

    fn is_of(&self, key: &Key) -> bool {
        self.name() == (&key.0, &key.1)
    }
}

impl toolhost_store::Change for Change {
    type Store = dyn Store;

    fn is_of_same(&self, other: &Self) -> bool {
        self.name() == other.name()
    }

    fn store(self, store: &dyn Store) -> Answer<'_, ()> {
        Box::pin(async move {
            match self {
                Self::Ended(ended, _) => store.end(ended).await.map(drop),
                Self::Fenced(fence) => store.cancel(fence).await.map(drop),
                Self::Withdrawn((chat, call)) => store.withdraw(chat, call).await,
            }
        })
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Ended(EndedCall { call, outcome, .. }, _) => {
                call.arguments.as_ref().map_or(0, String::len) + outcome.len()
            }
            Self::Fenced(_) | Self::Withdrawn(_) => 0,
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
    /// It runs at another host, which is told.
    Elsewhere,
}

impl Keeper {
    pub(super) fn new(store: Arc<dyn Store>, durability: Durability) -> Self {
        Self {
            store,
            durability,
            unwritten: Backlog::default(),
            dropped: Mutex::default(),
        }
    }

    /// Returns the record of a call that does not run.
    pub(super) async fn past(&self, key: &Key) -> Result<Option<Past>, StoreError> {
        self.forget_withdrawn(key).await?;
        let (ended, fence) = self.waiting(key);
        let past = match ended {
            Some(ended) => Some(Past::Ended {
                digest: ended.call.digest,
                tombstone: ended.cancelled,
                outcome: read(&ended.outcome),
            }),
            None => {
                let known = self.store.call(key.0.clone(), key.1.clone()).await?;
                match known {
                    None if self.dropped.lock().contains(key) => Some(Past::Lost),
                    known => known.map(Past::of),
                }
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
            (past @ Some(Past::Lost | Past::Elsewhere { .. }), Some(_)) => past,
            (Some(Past::Tombstone { tools }), Some(fence)) => Some(Past::Tombstone {
                tools: union(&tools, &fence),
            }),
            (None, Some(tools)) => Some(Past::Tombstone { tools }),
        })
    }

    /// Has the store forget a call that was withdrawn, if it still has to: until then, its record says that the call runs.
    async fn forget_withdrawn(&self, key: &Key) -> Result<(), StoreError> {
        let is_it = |change: &Change| matches!(change, Change::Withdrawn(other) if other == key);
        let waits = self
            .unwritten
            .look(|mut changes| Iterator::any(&mut changes, is_it));
        if !waits {
            return Ok(());
        }
        let forgotten = Box::pin(std::future::ready(Ok(())));
        self.after(key, forgotten).await
    }

    /// Waits until a call runs at no other host, and returns its record.
    pub(super) async fn settled(&self, (chat, call): Key) -> Result<Option<Call>, Refused> {
        let settled = self.store.settled(chat, call).await;
        settled.map_err(|error| unrecorded(&error))
    }

    /// Calls `add` with the id and the digest of each call of a chat of which a change waits to be stored.
    pub(super) fn unwritten_calls(&self, chat: &ChatId, add: &mut dyn FnMut(&CallId, [u8; 32])) {
        self.unwritten.look(|changes| {
            for change in changes {
                if let Change::Ended(EndedCall { call, .. }, _) = change
                    && call.chat == *chat
                {
                    add(&call.call, call.digest);
                }
            }
        });
    }

    /// Stores that a call is about to run, or to run again. Only [`Begun::New`] permits that.
    pub(super) async fn begin(&self, call: NewCall, is_resumed: bool) -> Result<Begun, Refused> {
        let key = (call.chat.clone(), call.call.clone());
        let storing = match is_resumed {
            true => self.store.resume(call),
            false => self.store.begin(call),
        };
        let begun = self.after(&key, storing).await;
        begun.map_err(|error| unrecorded(&error))
    }

    /// Returns the end of a call that waits to be stored, and the tools of its cancellations that do.
    pub(super) fn waiting(&self, key: &Key) -> (Option<EndedCall>, Option<ToolSet>) {
        let (mut ended, mut fence) = (None, None::<ToolSet>);
        self.unwritten.look(|changes| {
            for change in changes.filter(|change| change.is_of(key)) {
                match change {
                    Change::Withdrawn(_) => {}
                    // A tombstone that the call ran in spite of was for other tools.
                    Change::Ended(end, _) => (ended, fence) = (Some(end.clone()), None),
                    Change::Fenced(one) => {
                        let tools = set(one.tools.clone());
                        fence = Some(
                            fence
                                .take()
                                .map_or_else(|| tools.clone(), |all| union(&all, &tools)),
                        );
                    }
                }
            }
        });
        (ended, fence)
    }

    /// Forgets a call that began and had no effect. If the store cannot forget it now, repeats are refused until it can.
    pub(super) async fn withdraw(&self, key: Key) {
        let (chat, call) = key.clone();
        let stored = self.after(&key, self.store.withdraw(chat, call)).await;
        if let Err(error) = stored {
            let (chat, call) = &key;
            tracing::warn!(%chat, %call, error = text(&error), "a call that was turned away cannot be forgotten now");
            self.keep(Change::Withdrawn(key));
        }
    }

    /// Stores how a call ended. If the end cannot be stored now, it is stored as soon as it can be. The caller is told all the
    /// same. `number` is that of a call that ran here.
    pub(super) async fn end(&self, ended: EndedCall, number: Option<i64>) -> Ending {
        let change = Change::Ended(ended.clone(), number);
        let stored = self.after(&change.key(), self.store.end(ended)).await;
        stored.unwrap_or_else(|error| {
            let (chat, call) = change.name();
            tracing::warn!(%chat, %call, error = text(&error), "the end of a call cannot be stored now");
            self.keep(change);
            Ending::Stored
        })
    }

    /// Stores how a call ended that ran here. Hosts that share the store answer repeats, and end calls of hosts that lose their lease. So
    /// with such a store, the end is retried until the store has it or has another one. `None`: the host ends before; the end waits then.
    pub(super) async fn end_for_all(
        &self,
        ended: EndedCall,
        number: Option<i64>,
        stopping: &CancellationToken,
    ) -> Option<Ending> {
        if !self.store.is_shared() {
            return Some(self.end(ended, number).await);
        }
        let change = Change::Ended(ended.clone(), number);
        let mut is_first = true;
        loop {
            let storing = self.store.end(ended.clone());
            let error = match self.after(&change.key(), storing).await {
                Ok(ending) => return Some(ending),
                Err(error) => error,
            };
            if std::mem::take(&mut is_first) {
                let (chat, call) = change.name();
                tracing::warn!(%chat, %call, error = text(&error), "the end of a call cannot be stored now: its callers wait");
            }
            let again = tokio::time::sleep(AGAIN);
            if stopping.run_until_cancelled(again).await.is_none() {
                self.keep(change);
                return None;
            }
        }
    }

    /// Stores the cancellation of a call that runs. A failure does no harm: the call has begun, and does not run again.
    pub(super) async fn cancel_running(&self, fence: Cancellation) {
        let change = Change::Fenced(fence.clone());
        let stored = self.after(&change.key(), self.store.cancel(fence)).await;
        if stored.is_err_and(|error| self.may_wait(&error)) {
            self.keep(change);
        }
    }

    /// Cancels a call that does not run.
    pub(super) async fn cancel(&self, fence: Cancellation) -> Result<Cancelling, Refused> {
        let key = (fence.chat.clone(), fence.call.clone());
        match self.after(&key, self.store.cancel(fence)).await {
            Ok(CancelAnswer::Known(call)) if call.is_elsewhere => Ok(Cancelling::Elsewhere),
            Ok(CancelAnswer::Known(call)) => Ok(Cancelling::Over(Past::of(*call))),
            Ok(CancelAnswer::Tombstone(_) | CancelAnswer::Foreign) => Ok(Cancelling::Tombstone),
            Ok(CancelAnswer::TooMany) => Ok(Cancelling::TooMany),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Stores the changes that could not be stored before, and then a change of a call. It fails if an earlier change of this call
    /// still waits.
    async fn after<T>(&self, key: &Key, storing: Answer<'_, T>) -> Result<T, StoreError> {
        let precedes = |one: &Change| one.is_of(key);
        self.unwritten.after(&*self.store, precedes, storing).await
    }

    /// Stores the changes that could not be stored before, as far as possible.
    ///
    /// # Errors
    ///
    /// If some are left.
    pub(super) async fn catch_up(&self) -> Result<(), StoreError> {
        self.unwritten.catch_up(&*self.store).await
    }

    /// Keeps a change until it can be stored.
    pub(super) fn keep(&self, change: Change) {
        let dropped = self.unwritten.keep(change).dropped;
        let mut known = self.dropped.lock();
        dropped.iter().for_each(|change| known.add(change.key()));
    }

    /// Forgets calls of which changes were dropped, as the store forgets ids.
    pub(super) fn forget_dropped(&self, limits: &toolhost_store::Limits) {
        self.dropped.lock().forget(limits);
    }

    /// Returns whether a change may be stored later.
    fn may_wait(&self, error: &StoreError) -> bool {
        self.durability == Durability::Host && !matches!(error, StoreError::Damaged { .. })
    }
}

/// Returns the refusal of a question because of a failure of the store.
pub(super) fn unreadable(error: &StoreError) -> Refused {
    Refused::Unreadable(text(error))
}

/// Returns the refusal of a call because of a failure of the store.
pub(super) fn unrecorded(error: &StoreError) -> Refused {
    Refused::Unrecorded(text(error))
}

/// Returns an error with its causes.
pub(super) fn text(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
