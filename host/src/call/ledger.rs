//! The call ledger: a call id is an idempotency key, so a repeated request never runs anything twice.
//!
//! In memory for now: it does not survive the host.

mod records;

use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Outcome, Request, State};
use crate::id::{CallId, ChatId};
use crate::tool::{ErrorKind, ToolError};
use records::{Calls, Key, Record, Told};

/// How long outcomes are kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long an outcome is kept after its end; 1 h by default.
    pub keep: Duration,
    /// How many of the last outcomes of a chat are kept beyond that; 256 by default.
    pub keep_per_chat: usize,
    /// How long the id of a call is remembered after its outcome is gone; 24 h by default.
    pub fence: Duration,
    /// How many such ids of a chat are remembered at most; 4,096 by default.
    pub fences_per_chat: usize,
    /// The most bytes that all outcomes together may hold, beyond which the oldest go first; 256 MiB by default. Ids whose
    /// outcome is gone may hold a quarter of it besides, beyond which the oldest are forgotten.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            keep: hour,
            keep_per_chat: 256,
            fence: 24 * hour,
            fences_per_chat: 4096,
            bytes: 256 << 20,
        }
    }
}

/// Why a request with a known id gets no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The id was used for another tool or other arguments.
    #[error("this call id was used with another tool or other arguments")]
    InputMismatch,
    /// The call was cancelled, perhaps before it arrived.
    #[error("the call was cancelled")]
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
    /// The host is shutting down. Nothing ran.
    #[error("the host is shutting down")]
    Closed,
}

/// Returns a time in seconds, rounded up: who comes back then does not come too early.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Refused {
    /// Returns after how many seconds it is worth trying again, if it is.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Busy(_) => Some(1),
            Self::Quarantined { again_in, .. } => Some(seconds(*again_in).max(1)),
            Self::InputMismatch | Self::Cancelled | Self::Gone | Self::Closed => None,
        }
    }
}

/// Where a call stands, for those who ask without calling.
#[derive(Clone, Debug)]
pub enum Standing {
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
    Fenced,
}

/// What came of cancelling a call.
#[derive(Clone, Debug)]
pub enum Cancelled {
    /// How the call ended: perhaps before it was cancelled.
    Ended(Arc<Outcome>),
    /// No such call has arrived. When it does, it will not run.
    Fenced,
    /// The call has ended, and its outcome is no longer kept.
    Gone,
}

/// Hears of every change of a call's state, in order for each call.
pub(crate) type Listener = dyn Fn(&ChatId, &CallId, &str, State) + Send + Sync;

/// Remembers the calls of all chats and runs each of them once.
pub struct Ledger {
    limits: Limits,
    calls: Arc<Mutex<Calls>>,
    listener: Arc<Listener>,
    /// Cancels every call.
    stopping: CancellationToken,
}

impl std::fmt::Debug for Ledger {
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
    /// Makes an empty ledger.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            calls: Arc::default(),
            listener: Arc::new(|_, _, _, _| {}),
            stopping: CancellationToken::new(),
        }
    }

    /// Cancels every call with this token.
    pub fn within(self, stopping: CancellationToken) -> Self {
        Self { stopping, ..self }
    }

    /// Has every change of a call's state told.
    pub(crate) fn listened(self, listener: Arc<Listener>) -> Self {
        Self { listener, ..self }
    }

    /// Returns the one outcome of a call: the saved one, that of the execution under way, or that of a new execution.
    ///
    /// `admit` is asked only for a new call. Its error, which may be of a type of its own, refuses the call without a trace, so that a later repeat can run.
    /// What it returns is run as a task of its own: callers may come and go. Should it panic, the call has failed. The token that
    /// it gets is cancelled when somebody cancels the call.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn run<F, R, E>(&self, request: &Request, admit: F) -> Result<Arc<Outcome>, E>
    where
        E: From<Refused>,
        F: FnOnce(CancellationToken) -> Result<R, E>,
        R: Future<Output = Outcome> + Send + 'static,
    {
        let told = match self.begin(request, admit)? {
            Begun::Saved(outcome) => return Ok(outcome),
            Begun::Running(told) => told,
        };
        Ok(ended(told).await?)
    }

    /// Returns where a call stands; `None` if there is no such call.
    pub fn standing(&self, chat: &ChatId, id: &CallId) -> Option<Standing> {
        let mut calls = lock(&self.calls);
        calls.sweep(&self.limits);
        let record = calls.entries.get(&(chat.clone(), id.clone()))?;
        Some(record.standing())
    }

    /// Cancels a call and returns how it ended, once it has. A call that has not arrived yet will not run when it does.
    ///
    /// # Errors
    ///
    /// [`Refused::Closed`] if the host ends meanwhile.
    pub async fn cancel(&self, chat: &ChatId, id: &CallId) -> Result<Cancelled, Refused> {
        let told = {
            let mut calls = lock(&self.calls);
            calls.sweep(&self.limits);
            match calls.entries.entry((chat.clone(), id.clone())) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Record::Fenced { at: Instant::now() });
                    return Ok(Cancelled::Fenced);
                }
                Entry::Occupied(mut known) => match known.get_mut() {
                    Record::Running {
                        cancelled,
                        fenced,
                        told,
                        ..
                    } => {
                        *fenced = true;
                        cancelled.cancel();
                        told.clone()
                    }
                    Record::Ended {
                        outcome, fenced, ..
                    } => {
                        *fenced = true;
                        return Ok(Cancelled::Ended(Arc::clone(outcome)));
                    }
                    Record::Gone { .. } => return Ok(Cancelled::Gone),
                    Record::Fenced { .. } => return Ok(Cancelled::Fenced),
                },
            }
        };
        Ok(Cancelled::Ended(ended(told).await?))
    }

    fn begin<F, R, E>(&self, request: &Request, admit: F) -> Result<Begun, E>
    where
        E: From<Refused>,
        F: FnOnce(CancellationToken) -> Result<R, E>,
        R: Future<Output = Outcome> + Send + 'static,
    {
        let digest = request.digest();
        let mut calls = lock(&self.calls);
        calls.sweep(&self.limits);
        let key = (request.chat.clone(), request.id.clone());
        let vacant = match calls.entries.entry(key.clone()) {
            Entry::Occupied(known) => return Ok(known.get().answer(&digest)?),
            Entry::Vacant(vacant) => vacant,
        };
        let cancelled = self.stopping.child_token();
        let execution = admit(cancelled.clone())?;
        let (teller, told) = watch::channel(None);
        vacant.insert(Record::Running {
            digest,
            tool: request.tool.clone(),
            since: Instant::now(),
            cancelled,
            fenced: false,
            told: told.clone(),
        });
        drop(calls);
        let (ledger, limits, tool) = (
            Arc::clone(&self.calls),
            self.limits.clone(),
            request.tool.clone(),
        );
        let listener = Arc::clone(&self.listener);
        listener(&request.chat, &request.id, &request.tool, State::Running);
        tokio::spawn(async move {
            let (chat, id) = key.clone();
            // If this task is dropped with its runtime, the record must not claim for ever that the call runs.
            let mut unfinished = Unfinished {
                ledger,
                key: Some(key),
            };
            let outcome = tokio::spawn(execution)
                .await
                .unwrap_or_else(|error| Outcome {
                    id: id.clone(),
                    tool,
                    result: Err(ToolError::new(
                        ErrorKind::Broken,
                        format!("the host failed: {error}"),
                    )),
                    cancelled: false,
                    processes: Vec::new(),
                    duration: Duration::ZERO,
                    queued: Duration::ZERO,
                });
            let outcome = Arc::new(outcome);
            unfinished.finish(digest, &outcome, &limits);
            listener(&chat, &id, &outcome.tool, outcome.state());
            teller.send_replace(Some(outcome));
        });
        Ok(Begun::Running(told))
    }
}

/// Waits for the outcome of a call that runs.
async fn ended(mut told: watch::Receiver<Told>) -> Result<Arc<Outcome>, Refused> {
    match told.wait_for(Option::is_some).await {
        Ok(told) => told.clone().ok_or(Refused::Closed),
        // The task was dropped with its runtime.
        Err(_) => Err(Refused::Closed),
    }
}

#[derive(Debug)]
enum Begun {
    Saved(Arc<Outcome>),
    Running(watch::Receiver<Told>),
}

/// The record of a call that has not ended, which is forgotten if its task is dropped.
struct Unfinished {
    ledger: Arc<Mutex<Calls>>,
    key: Option<Key>,
}

impl Unfinished {
    fn finish(&mut self, digest: [u8; 32], outcome: &Arc<Outcome>, limits: &Limits) {
        let Some(key) = self.key.take() else { return };
        let mut calls = lock(&self.ledger);
        let record = calls.entries.get(&key);
        let fenced = matches!(record, Some(Record::Running { fenced: true, .. }));
        calls.bytes += outcome.size();
        calls.entries.insert(
            key,
            Record::Ended {
                digest,
                fenced,
                outcome: Arc::clone(outcome),
                at: Instant::now(),
            },
        );
        if calls.bytes > limits.bytes {
            calls.sweep(limits);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            lock(&self.ledger).entries.remove(&key);
        }
    }
}

fn lock(calls: &Mutex<Calls>) -> MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;

    use super::*;
    use crate::call::Arguments;
    use crate::tool::{Content, Reply};

    fn request(chat: &str, id: &str, arguments: &str) -> Request {
        Request::new(
            chat.parse().unwrap(),
            id.parse().unwrap(),
            "t",
            Arguments::parse(arguments).unwrap(),
        )
    }

    fn outcome(text: &str) -> Outcome {
        let content = vec![Content::Text { text: text.into() }];
        Outcome {
            id: "call".parse().unwrap(),
            tool: "t".into(),
            result: Ok(Reply {
                content,
                is_error: false,
            }),
            cancelled: false,
            processes: Vec::new(),
            duration: Duration::ZERO,
            queued: Duration::ZERO,
        }
    }

    async fn run(
        ledger: &Ledger,
        request: &Request,
        runs: &Arc<AtomicUsize>,
    ) -> Result<String, Refused> {
        let runs = Arc::clone(runs);
        let execution = async move { outcome(&runs.fetch_add(1, Ordering::SeqCst).to_string()) };
        let outcome = ledger.run(request, |_| Ok(execution)).await?;
        match &outcome.result.as_ref().unwrap().content[0] {
            Content::Text { text } => Ok(text.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_repeat_gets_the_saved_outcome() {
        let (ledger, runs) = (Ledger::default(), Arc::default());
        for _ in 0..3 {
            assert_eq!(
                run(&ledger, &request("a", "1", "{\"x\":1}"), &runs)
                    .await
                    .unwrap(),
                "0"
            );
        }
        assert_eq!(
            run(&ledger, &request("a", "1", "{ \"x\": 1.0 }"), &runs)
                .await
                .unwrap(),
            "0"
        );
        assert_eq!(
            run(&ledger, &request("a", "1", "{\"x\":2}"), &runs).await,
            Err(Refused::InputMismatch)
        );
        let other_tool = Request {
            tool: "u".into(),
            ..request("a", "1", "{\"x\":1}")
        };
        assert_eq!(
            run(&ledger, &other_tool, &runs).await,
            Err(Refused::InputMismatch)
        );
        assert_eq!(
            run(&ledger, &request("a", "2", "{\"x\":1}"), &runs)
                .await
                .unwrap(),
            "1"
        );
        assert_eq!(
            run(&ledger, &request("b", "1", "{\"x\":2}"), &runs)
                .await
                .unwrap(),
            "2"
        );
    }

    #[tokio::test]
    async fn parallel_callers_share_one_execution_even_if_the_first_leaves() {
        let ledger = Ledger::default();
        let request = request("a", "1", "{}");
        let (go, gate) = oneshot::channel::<()>();
        let first = ledger.run(&request, |_| {
            Ok::<_, Refused>(async move {
                gate.await.unwrap();
                outcome("once")
            })
        });
        let mut first = Box::pin(first);
        assert!(futures_util::poll!(first.as_mut()).is_pending());
        drop(first);
        let again = |_| -> Result<std::future::Ready<Outcome>, Refused> { panic!("ran twice") };
        let others = (0..10).map(|_| ledger.run(&request, again));
        let mut others = Box::pin(futures_util::future::join_all(others));
        assert!(futures_util::poll!(others.as_mut()).is_pending());
        go.send(()).unwrap();
        for outcome in others.await {
            assert!(!outcome.unwrap().is_error());
        }
    }

    #[tokio::test]
    async fn a_refused_admission_leaves_no_trace() {
        let (ledger, runs) = (Ledger::default(), Arc::default());
        let request = request("a", "1", "{}");
        let busy = Refused::Busy("busy".into());
        let refused = ledger
            .run(&request, |_| {
                Err::<std::future::Ready<Outcome>, _>(busy.clone())
            })
            .await;
        assert_eq!(refused.unwrap_err(), busy);
        assert_eq!(run(&ledger, &request, &runs).await.unwrap(), "0");
    }

    #[tokio::test]
    async fn a_panic_is_saved_as_a_failure() {
        let ledger = Ledger::default();
        let request = request("a", "1", "{}");
        for _ in 0..2 {
            let outcome = ledger
                .run(&request, |_| Ok::<_, Refused>(async { panic!("boom") }))
                .await
                .unwrap();
            assert_eq!(outcome.state(), crate::call::State::Failed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn outcomes_go_first_and_ids_later() {
        let limits = Limits {
            keep_per_chat: 1,
            ..Limits::default()
        };
        let (ledger, runs) = (Ledger::new(limits), Arc::default());
        run(&ledger, &request("a", "1", "{}"), &runs).await.unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        run(&ledger, &request("a", "2", "{}"), &runs).await.unwrap();
        tokio::time::advance(Duration::from_secs(2 * 3600)).await;
        assert_eq!(
            run(&ledger, &request("a", "1", "{}"), &runs).await,
            Err(Refused::Gone)
        );
        assert_eq!(
            run(&ledger, &request("a", "2", "{}"), &runs).await.unwrap(),
            "1"
        );
        tokio::time::advance(Duration::from_secs(24 * 3600)).await;
        assert_eq!(
            run(&ledger, &request("a", "1", "{}"), &runs).await.unwrap(),
            "2"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_bounded() {
        let (ledger, runs) = (
            Ledger::new(Limits {
                bytes: 8000,
                ..Limits::default()
            }),
            Arc::default(),
        );
        for id in 0..20 {
            tokio::time::advance(Duration::from_millis(1)).await;
            run(&ledger, &request("a", &id.to_string(), "{}"), &runs)
                .await
                .unwrap();
        }
        // There is room for a few outcomes and one or two fences; the first ids are forgotten altogether.
        let (known, gone) = {
            let calls = lock(&ledger.calls);
            let is_gone = |record: &&Record| matches!(record, Record::Gone { .. });
            assert!(calls.bytes <= 8000);
            (
                calls.entries.len(),
                calls.entries.values().filter(is_gone).count(),
            )
        };
        assert!((1..=2).contains(&gone) && known < 20, "{gone} of {known}");
        assert_eq!(
            run(&ledger, &request("a", "19", "{}"), &runs)
                .await
                .unwrap(),
            "19"
        );
    }
}
