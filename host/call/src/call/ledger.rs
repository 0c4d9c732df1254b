//! The call ledger: a call id is an idempotency key, so a repeated request never runs anything twice.

mod execution;
mod records;
mod recovery;
pub(super) mod retention;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::{Actor, Outcome, Request};
use execution::Execution;
use records::{Calls, Cancelling, Completion, Record};
use toolhost_state::id::{CallId, ChatId};

pub use recovery::Interrupted;

/// How long outcomes are kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long an outcome is kept after its end; 1 h by default.
    pub keep: Duration,
    /// How many of the last outcomes of a chat are kept beyond that; 256 by default.
    pub keep_per_chat: usize,
    /// How long the id of a call is remembered after its outcome is gone; 24 h by default.
    pub tombstone: Duration,
    /// How many calls of a chat that were cancelled before they arrived are remembered at once; 4,096 by default. Cancelling
    /// another one is refused until one of them is forgotten.
    pub tombstones_per_chat: usize,
    /// The most bytes that all outcomes together may hold, beyond which the oldest go first; 256 MiB by default. Ids whose
    /// outcome is gone may hold a quarter of it besides, beyond which the oldest are forgotten of the chats with the most.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            keep: hour,
            keep_per_chat: 256,
            tombstone: 24 * hour,
            tombstones_per_chat: 4096,
            bytes: 256 << 20,
        }
    }
}

/// Why a request with a known id gets no outcome. The name of a variant in snake case is a label of a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Refused {
    /// The id was used for another tool or other arguments.
    #[error("this call id was used with another tool or other arguments")]
    InputMismatch,
    /// The call was cancelled: before it arrived, while it ran, or after its end. [`Ledger::status`] says which.
    #[error(
        "the call was cancelled, perhaps after it had run: ask for its state to see what came of it"
    )]
    Cancelled,
    /// The call has ended, and its outcome is no longer kept.
    #[error("reply no longer kept")]
    Gone,
    /// There is no place for another call now. Nothing ran.
    #[error("{0}")]
    Busy(String),
    /// The plugin trapped too often, and is left alone for a while. Nothing ran.
    #[error(
        "plugin {plugin} is quarantined for another {} s, because it trapped {traps} times in a row; other tools can be used",
        seconds(*.again_in)
    )]
    Quarantined {
        /// The name of the plugin.
        plugin: String,
        /// How many traps in a row are too many.
        traps: u32,
        /// When to try again.
        again_in: Duration,
    },
    /// The call cannot be written down, and must not run without that. Nothing ran.
    #[error("the call cannot be written down, so it did not run: {0}")]
    Unrecorded(String),
    /// The host is shutting down. Nothing ran.
    #[error("the host is shutting down")]
    Closed,
}

/// Returns a time in seconds, rounded up, so that a client that retries then is not too early.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Refused {
    /// Returns after how many seconds it is worth trying again, if it is.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Busy(_) | Self::Unrecorded(_) => Some(1),
            Self::Quarantined { again_in, .. } => Some(seconds(*again_in).max(1)),
            Self::InputMismatch | Self::Cancelled | Self::Gone | Self::Closed => None,
        }
    }
}

/// Where a call stands, for a client that asks without calling.
#[derive(Clone, Debug)]
pub enum CallStatus {
    /// It has not ended.
    Live {
        /// The tool that was called.
        tool: String,
        /// When it began.
        since: Instant,
    },
    /// It has ended.
    Ended(Arc<Outcome>),
    /// It has ended, and its outcome is no longer kept.
    Gone,
    /// It was cancelled before it arrived, and will not run.
    Tombstone {
        /// The tools whose calls do not run under this id; `None`: all.
        tools: Option<Arc<BTreeSet<String>>>,
    },
}

/// The result of cancelling a call.
#[derive(Clone, Debug)]
pub enum Cancelled {
    /// How the call ended: perhaps before it was cancelled.
    Ended(Arc<Outcome>),
    /// No such call has arrived. When it does, it will not run.
    ///
    /// A caller that may not use all tools gets this as well if the id is that of a call of a tool that it may not use: the
    /// id is taken, and a call of another tool does not run under it.
    Tombstone,
    /// The call has ended, and its outcome is no longer kept.
    Gone,
}

/// A listener to the changes of calls, in order for each call. Its methods must not block.
pub trait Listener: Send + Sync {
    /// A call begins.
    fn begun(&self, request: &Request);

    /// A call has ended.
    fn ended(&self, chat: &ChatId, outcome: &Outcome);
}

/// The execution of a call that was admitted.
#[derive(Debug)]
pub struct Admitted<R> {
    /// The execution, which has not begun yet.
    pub execution: R,
    /// Whether the call changes nothing: then it may run again after a crash, so its start is not written down.
    pub read_only: bool,
}

/// How much a ledger remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Ids of calls, whether they run, have ended, or will never run.
    pub calls: usize,
    /// Calls that run.
    pub running: usize,
    /// Bytes of outcomes.
    pub bytes: usize,
    /// Bytes of the journal on disk.
    pub journal_bytes: u64,
    /// How many times something was written to it.
    pub journal_writes: u64,
    /// How many of these failed.
    pub journal_failures: u64,
    /// Whether there is a journal: without one, all calls are forgotten with the host.
    pub is_journalled: bool,
}

/// Remembers the calls of all chats and runs each of them once.
#[derive(Clone, Debug)]
pub struct Ledger {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    calls: Mutex<Calls>,
    journal: Journal,
    listener: Option<Box<dyn Listener>>,
    /// Cancels every call.
    stopping: CancellationToken,
    /// The runtime in which calls run, so that they do not depend on that of a caller; `None`: the runtime of the caller.
    runtime: Option<Handle>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Ledger");
        shown.field("limits", &self.limits).finish_non_exhaustive()
    }
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

#[derive(Debug)]
enum Begun {
    Saved(Arc<Outcome>),
    Running(watch::Receiver<Completion>),
}
