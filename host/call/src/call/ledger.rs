//! The call ledger: a call id is an idempotency key, so a repeated request never runs anything twice.

mod answer;
mod begun;
mod dropped;
mod execution;
mod keeper;
mod live;
mod lookup;
mod past;
mod recovery;
mod running;
mod shared;
mod sweep;
mod sweeper;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolhost_store::{
    CallQuery, CallState, Cancellation, Counts, Durability, Sqlite, Store, StoreError,
};

use super::digests::Digests;
use super::{
    Actor, CallStatus, Cancelled, Limits, NestedCall, NestedRecord, Outcome, Refused, Request,
};
use answer::{Key, wait_for_outcome};
use keeper::{Cancelling, Keeper, text, unreadable, unrecorded};
use past::{Past, lost};
use running::{Calls, Running};
use shared::Shared;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::turns::Turns;

pub use begun::{Begun, Known, Permit};
pub use live::LiveCall;
pub use past::HOST_STOPPED;
pub use recovery::Interrupted;
pub use shared::{Admitted, Listener};

/// The ledger of the calls of all chats. It runs each call once.
#[derive(Clone, Debug)]
pub struct Ledger {
    shared: Arc<Shared>,
}

/// How much a ledger remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Ids of calls, whether they run, have ended, or will never run.
    pub calls: u64,
    /// Calls that run.
    pub running: usize,
    /// Bytes of outcomes.
    pub bytes: u64,
    /// The numbers of the store.
    pub store: Counts,
}

impl Ledger {
    /// Makes an empty ledger in memory, which ends with the host.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn new(limits: Limits) -> Result<Self, StoreError> {
        let (store, stopping) = (Arc::new(Sqlite::in_memory()?), CancellationToken::new());
        let ledger = Self::with(limits, store, Durability::Host, None, stopping);
        Ok(ledger)
    }

    fn with(
        limits: Limits,
        store: Arc<dyn Store>,
        durability: Durability,
        listener: Option<Box<dyn Listener>>,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                calls: Mutex::default(),
                turns: Turns::default(),
                keeper: Keeper::new(store, durability),
                sweeper: Default::default(),
                listener,
                stopping,
                tasks: TaskTracker::new(),
                runtime: Handle::try_current().ok(),
            }),
        }
    }

    /// Returns the token that is cancelled when the host of the ledger stops.
    pub fn stopping(&self) -> &CancellationToken {
        &self.shared.stopping
    }

    /// Returns the store, for values that are no calls.
    pub fn store(&self) -> &dyn Store {
        &*self.shared.keeper.store
    }

    /// Finds a call, or permits to run it. A call id is used once: a request with the tool and the arguments of an earlier one finds the call
    /// of that one, and any other request is refused. [`Begun::New`] is the only way to run a call.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    pub async fn begin(&self, request: &Arc<Request>) -> Result<Begun, Refused> {
        let shared = &self.shared;
        let digests = Digests::of(request);
        let key = (request.chat.clone(), request.id.clone());
        let turn = shared.turns.take(&key).await;
        if let Some(running) = shared.calls.lock().running.get(&key) {
            let known = running.answer(&digests)?;
            return Ok(Begun::Known(Known::new(shared, key, known)));
        }
        let past = shared.keeper.past(&key).await;
        let past = past.map_err(|error| unrecorded(&error))?;
        let interrupted = past.as_ref().and_then(|past| past.interrupted(&digests));
        let answer = past.and_then(|past| past.answer(&digests, &request.id, &request.tool));
        match (answer, &interrupted) {
            (Some(answer), None) => Ok(Begun::Known(Known::new(shared, key, answer?))),
            _ => Ok(Begun::New(Permit::new(
                shared,
                request,
                digests,
                turn,
                interrupted,
            ))),
        }
    }

    /// Returns the status of a call; `None` if there is no such call.
    ///
    /// # Errors
    ///
    /// [`Refused::Unreadable`] if the store cannot say.
    pub async fn status(&self, chat: &ChatId, id: &CallId) -> Result<Option<CallStatus>, Refused> {
        let key = (chat.clone(), id.clone());
        let running = |running: &Running| running.status();
        // A call that ends meanwhile is in the store before it leaves the memory.
        let live = self.shared.calls.lock().running.get(&key).map(running);
        let keeper = &self.shared.keeper;
        if live.is_some() && !keeper.store.is_shared() {
            return Ok(live);
        }
        let past = keeper.past(&key).await;
        let past = past.map_err(|error| unreadable(&error))?;
        Ok(match past {
            // Another host took it over while this one was cut off from the store.
            Some(past @ Past::Ended { .. }) => Some(past.status(id)),
            past => live.or_else(|| past.map(|past| past.status(id))),
        })
    }

    /// Cancels a call, waits until it has ended, and returns how. A call that has not arrived yet will not run when it arrives. The
    /// actor can cancel only calls of tools that it may use.
    ///
    /// # Errors
    ///
    /// [`Refused::Closed`] if the host ends meanwhile. For a call that has not arrived: [`Refused::Busy`] if the chat has too
    /// many tombstones, and [`Refused::Unrecorded`] or [`Refused::Unreadable`] if the tombstone cannot be written down.
    pub async fn cancel(
        &self,
        chat: &ChatId,
        id: &CallId,
        actor: &Actor,
    ) -> Result<Cancelled, Refused> {
        let key = (chat.clone(), id.clone());
        let turn = self.shared.turns.take(&key).await;
        let cancelled = self
            .shared
            .calls
            .lock()
            .running
            .get_mut(&key)
            .map(|running| {
                let may_use = actor.may_use(&running.request.tool);
                may_use.then(|| running.cancel())
            });
        let keeper = &self.shared.keeper;
        match cancelled {
            Some(Some((waiter, is_news))) => {
                if is_news {
                    keeper.cancel_running(self.cancellation(&key, actor)).await;
                }
                drop(turn);
                return Ok(Cancelled::Ended(wait_for_outcome(waiter).await?));
            }
            Some(None) => return Ok(Cancelled::Tombstone),
            None => {}
        }
        let cancelling = keeper.cancel(self.cancellation(&key, actor)).await?;
        drop(turn);
        match cancelling {
            Cancelling::Elsewhere => {
                self.shared.settled(key).await?;
                Ok(match self.status(chat, id).await? {
                    Some(CallStatus::Ended(outcome)) => Cancelled::Ended(outcome),
                    _ => Cancelled::Gone,
                })
            }
            Cancelling::Over(Past::Ended {
                outcome: Some(outcome),
                ..
            }) => Ok(Cancelled::Ended(outcome)),
            Cancelling::Over(Past::Lost) => Ok(Cancelled::Ended(Arc::new(lost(id, "")))),
            Cancelling::Over(Past::Ended { .. }) if actor.may_use_all() => Ok(Cancelled::Gone),
            // The id belongs to another call, which the actor must not learn about.
            Cancelling::Over(_) => Ok(Cancelled::Tombstone),
            Cancelling::Tombstone => {
                self.shared.sweeper.add_id();
                self.shared.bound().await;
                Ok(Cancelled::Tombstone)
            }
            Cancelling::TooMany => Err(Refused::Busy(format!(
                "{} calls of this chat were cancelled before they arrived, which is the most that are remembered",
                self.shared.limits.tombstones_per_chat
            ))),
        }
    }

    /// Returns the calls that a call has made, in the order of their numbers, also in earlier hosts.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn nested(
        &self,
        chat: &ChatId,
        outer: &CallId,
    ) -> Result<Vec<NestedCall>, StoreError> {
        let keeper = &self.shared.keeper;
        let stored = keeper.store.nested(chat.clone(), outer.clone()).await?;
        let mut calls: BTreeMap<_, _> = stored
            .into_iter()
            .map(|call| (call.number, call.record))
            .collect();
        let mut add = |call: &CallId, digest: [u8; 32]| {
            if let Some((of, number)) = call.outer()
                && of == *outer
            {
                calls.insert(number, NestedRecord::Begun(digest));
            }
        };
        keeper.unwritten_calls(chat, &mut add);
        for ((of, call), running) in &self.shared.calls.lock().running {
            if of == chat {
                add(call, running.digest);
            }
        }
        let calls = calls.into_iter();
        Ok(calls
            .map(|(number, record)| NestedCall { number, record })
            .collect())
    }

    fn cancellation(&self, (chat, call): &Key, actor: &Actor) -> Cancellation {
        Cancellation {
            chat: chat.clone(),
            call: call.clone(),
            principal: actor.name().to_owned(),
            tools: actor.tools().as_deref().cloned(),
            most: self.shared.limits.tombstones_per_chat as u64,
        }
    }

    /// Cancels the running calls of a chat whose tools the actor may use, waits until they have ended, and returns how.
    pub async fn cancel_all(&self, chat: &ChatId, actor: &Actor) -> Vec<Arc<Outcome>> {
        let running = self.shared.calls.lock().cancel_running(chat, actor);
        let ends = running.into_iter().map(|(id, waiter, is_news)| async move {
            if is_news {
                let cancellation = self.cancellation(&(chat.clone(), id), actor);
                self.shared.keeper.cancel_running(cancellation).await;
            }
            wait_for_outcome(waiter).await.ok()
        });
        let outcomes = futures_util::future::join_all(ends).await;
        let mut outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
        if self.shared.keeper.store.is_shared() {
            outcomes.extend(self.cancel_elsewhere(chat, actor).await);
        }
        outcomes
    }

    /// Cancels the calls of a chat that run at other hosts, waits until they have ended, and returns how.
    async fn cancel_elsewhere(&self, chat: &ChatId, actor: &Actor) -> Vec<Arc<Outcome>> {
        let query = CallQuery {
            states: Some([CallState::Running].into()),
            ..CallQuery::of_chat(chat.clone(), u32::MAX)
        };
        let found = self.calls(query, actor).await;
        let found = found.map_or_else(
            |error| {
                tracing::warn!(%chat, error = text(&error), "the calls of a chat at other hosts are not known");
                Vec::new()
            },
            |page| page.calls,
        );
        let ends =
            found.iter().map(
                async |call| match self.cancel(chat, &call.call, actor).await {
                    Ok(Cancelled::Ended(outcome)) => Some(outcome),
                    Ok(Cancelled::Gone | Cancelled::Tombstone) | Err(_) => None,
                },
            );
        let ends = futures_util::future::join_all(ends).await;
        ends.into_iter().flatten().collect()
    }

    /// Cancels a call that runs here, because another host stored its cancellation.
    pub fn cancelled_elsewhere(&self, chat: &ChatId, id: &CallId) {
        let key = (chat.clone(), id.clone());
        if let Some(running) = self.shared.calls.lock().running.get_mut(&key) {
            running.cancel();
        }
    }

    /// Stores the changes that could not be stored before, as far as possible.
    pub async fn catch_up(&self) {
        if let Err(error) = self.shared.keeper.catch_up().await {
            tracing::debug!(error = text(&error), "changes of calls still wait");
        }
    }

    /// Refuses new calls of a chat until the returned guard is dropped.
    pub fn refuse_new_calls(&self, chat: &ChatId) -> ClosedChat {
        *self
            .shared
            .calls
            .lock()
            .closing
            .entry(chat.clone())
            .or_default() += 1;
        ClosedChat {
            shared: Arc::clone(&self.shared),
            chat: chat.clone(),
        }
    }

    /// Waits until every call has ended and its callers have their answers. Then retries the changes that could not be stored. The host
    /// calls this before its end, when it admits no more calls.
    pub async fn finish(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        if let Err(error) = self.shared.keeper.catch_up().await {
            let error = text(&error);
            tracing::warn!(error, "what happened to the last calls cannot be stored");
        }
    }

    /// Returns how much is remembered.
    pub fn stats(&self) -> Stats {
        let (kept, running) = (
            self.shared.sweeper.kept(),
            self.shared.calls.lock().running.len(),
        );
        Stats {
            calls: kept.outcomes + kept.ids + running as u64,
            running,
            bytes: kept.bytes,
            store: self.shared.keeper.store.counts(),
        }
    }
}

/// A guard: while it exists, no call can begin in the chat.
#[derive(Debug)]
pub struct ClosedChat {
    shared: Arc<Shared>,
    chat: ChatId,
}

impl Drop for ClosedChat {
    fn drop(&mut self) {
        let mut calls = self.shared.calls.lock();
        if let Entry::Occupied(mut times) = calls.closing.entry(self.chat.clone()) {
            *times.get_mut() -= 1;
            if *times.get() == 0 {
                times.remove();
            }
        }
    }
}
