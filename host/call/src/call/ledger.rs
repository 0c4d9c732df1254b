//! The call ledger: a call id is an idempotency key, so a repeated request never runs anything twice.

mod execution;
mod records;
mod recovery;
mod shared;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::{Actor, CallStatus, Cancelled, Limits, Outcome, Refused, Request};
use execution::Execution;
use records::{Begun, Cancelling, Completion, Record};
use shared::Shared;
use toolhost_state::id::{CallId, ChatId};

pub use records::Stats;
pub use recovery::Interrupted;
pub use shared::{Admitted, Listener};

/// Remembers the calls of all chats and runs each of them once.
#[derive(Clone, Debug)]
pub struct Ledger {
    shared: Arc<Shared>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Ledger {
    /// Makes an empty ledger, which forgets with its host.
    pub fn new(limits: Limits) -> Self {
        Self::with(limits, Journal::none(), None, CancellationToken::new())
    }

    fn with(
        limits: Limits,
        journal: Journal,
        listener: Option<Box<dyn Listener>>,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                calls: Mutex::default(),
                journal,
                listener,
                stopping,
                runtime: Handle::try_current().ok(),
            }),
        }
    }

    /// Returns the one outcome of a call: the saved one, that of the execution under way, or that of a new execution.
    ///
    /// The ledger calls `admit` only for a new call. If `admit` fails, the call is refused and leaves no record, so that a
    /// later repeat can run. The error may be of a type of its own. The returned execution runs as a task on the runtime that
    /// the ledger was made in, so that it outlives its caller. If the execution panics, the call has failed. The token that
    /// `admit` gets is cancelled when the call is cancelled.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn run<F, R, E>(&self, request: &Arc<Request>, admit: F) -> Result<Arc<Outcome>, E>
    where
        E: From<Refused>,
        F: FnOnce(CancellationToken) -> Result<Admitted<R>, E>,
        R: Future<Output = Outcome> + Send + 'static,
    {
        let told = match self.begin(request, admit)? {
            Begun::Saved(outcome) => return Ok(outcome),
            Begun::Running(told) => told,
        };
        Ok(ended(told).await?)
    }

    /// Returns where a call stands; `None` if there is no such call.
    pub fn status(&self, chat: &ChatId, id: &CallId) -> Option<CallStatus> {
        let calls = self.shared.swept();
        let record = calls.entries.get(&(chat.clone(), id.clone()))?;
        Some(record.status())
    }

    /// Cancels a call and returns how it ended, once it has. A call that has not arrived yet will not run when it does. The
    /// caller reaches calls of tools that it may use, and no others.
    ///
    /// # Errors
    ///
    /// [`Refused::Closed`] if the host ends meanwhile. For a call that has not arrived: [`Refused::Busy`] if the chat has too
    /// many tombstones, and [`Refused::Unrecorded`] if the tombstone cannot be written down.
    pub async fn cancel(
        &self,
        chat: &ChatId,
        id: &CallId,
        actor: &Actor,
    ) -> Result<Cancelled, Refused> {
        let key = (chat.clone(), id.clone());
        let cancelling = self
            .shared
            .swept()
            .cancel(key, &self.shared.limits, actor)?;
        let journal = &self.shared.journal;
        match cancelling {
            Cancelling::Running { told, news } => {
                if news {
                    // A failed write does no harm: the call has begun, and does not run again.
                    _ = journal.cancelled(chat, id, &None).await;
                }
                Ok(Cancelled::Ended(ended(told).await?))
            }
            Cancelling::Over { cancelled, news } => {
                if news {
                    _ = journal.cancelled(chat, id, &None).await;
                }
                Ok(cancelled)
            }
            Cancelling::Tombstone { tools, news } => {
                // A repeated cancellation waits for the disk as well, and retries a write that failed before.
                if news || journal.is_synced() {
                    let written = journal.cancelled(chat, id, &tools).await;
                    written.map_err(|error| Refused::Unrecorded(error.to_string()))?;
                }
                Ok(Cancelled::Tombstone)
            }
            Cancelling::Foreign => Ok(Cancelled::Tombstone),
        }
    }

    /// Cancels every call of a chat that runs, of tools that the caller may use, and returns how they ended, once they have.
    pub async fn cancel_all(&self, chat: &ChatId, actor: &Actor) -> Vec<Arc<Outcome>> {
        let running = self.shared.swept().cancel_running(chat, actor);
        let journal = &self.shared.journal;
        let ends = running.into_iter().map(|(id, told, news)| async move {
            if news {
                // A failed write does no harm: the call has begun, and does not run again.
                _ = journal.cancelled(chat, &id, &None).await;
            }
            ended(told).await.ok()
        });
        let outcomes = futures_util::future::join_all(ends).await;
        outcomes.into_iter().flatten().collect()
    }

    /// Refuses new calls of a chat until the returned guard is dropped.
    pub fn close(&self, chat: &ChatId) -> Closing {
        *self.shared.calls().closing.entry(chat.clone()).or_default() += 1;
        Closing {
            shared: Arc::clone(&self.shared),
            chat: chat.clone(),
        }
    }

    /// Writes the lines that could not be written before, as far as possible. The host calls this before its end.
    pub fn catch_up(&self) {
        self.shared.journal.catch_up();
    }

    /// Returns how much is remembered.
    pub fn stats(&self) -> Stats {
        let (journal_bytes, journal_writes, journal_failures) = self.shared.journal.counts();
        Stats {
            journal_bytes,
            journal_writes,
            journal_failures,
            is_journalled: self.shared.journal.is_kept(),
            ..self.shared.calls().stats()
        }
    }

    fn begin<F, R, E>(&self, request: &Arc<Request>, admit: F) -> Result<Begun, E>
    where
        E: From<Refused>,
        F: FnOnce(CancellationToken) -> Result<Admitted<R>, E>,
        R: Future<Output = Outcome> + Send + 'static,
    {
        let digest = request.digest();
        let mut calls = self.shared.swept();
        let key = (request.chat.clone(), request.id.clone());
        let closing = calls.closing.contains_key(&request.chat);
        let known = calls.entries.get(&key);
        if let Some(known) = known.filter(|known| !known.lets_pass(&request.tool)) {
            return Ok(known.answer(&digest)?);
        }
        if closing {
            let text = "the chat is being ended: try again when it has".to_owned();
            return Err(Refused::Busy(text).into());
        }
        let cancelled = self.shared.stopping.child_token();
        let admitted = admit(cancelled.clone())?;
        let (teller, told) = watch::channel(None);
        let running = Record::Running {
            digest,
            tool: request.tool.clone(),
            since: Instant::now(),
            cancelled,
            tombstone: false,
            told: told.clone(),
        };
        calls.forget(&key);
        calls.entries.insert(key, running);
        drop(calls);
        let execution = Execution::new(
            Arc::clone(&self.shared),
            Arc::clone(request),
            digest,
            teller,
        );
        let running = execution.run(admitted);
        match &self.shared.runtime {
            Some(runtime) => runtime.spawn(running),
            None => tokio::spawn(running),
        };
        Ok(Begun::Running(told))
    }
}

/// A chat in which nothing begins.
#[derive(Debug)]
pub struct Closing {
    shared: Arc<Shared>,
    chat: ChatId,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut calls = self.shared.calls();
        if let Entry::Occupied(mut times) = calls.closing.entry(self.chat.clone()) {
            *times.get_mut() -= 1;
            if *times.get() == 0 {
                times.remove();
            }
        }
    }
}

/// Waits for the outcome of a call that runs.
async fn ended(mut told: watch::Receiver<Completion>) -> Result<Arc<Outcome>, Refused> {
    match told.wait_for(Option::is_some).await {
        Ok(told) => told.clone().unwrap_or(Err(Refused::Closed)),
        // The task was dropped with its runtime.
        Err(_) => Err(Refused::Closed),
    }
}
