//! The calls that one running call makes: their tasks, their turns and their limits.

mod numbers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join;
use tokio::sync::{Mutex, OnceCell, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use numbers::Numbers;
use toolhost_call::call::{Arguments, CallError, NestedCalls, Outcome, Refused, Request};
use toolhost_call::metrics::LimitKind;
use toolhost_call::scratch::Scratch;
use toolhost_call::tool::{Definition, ErrorKind, ToolError};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{CpuAccount, Error};

/// The most calls that one call makes.
const CALLS: u32 = 1_000;

/// The most of them that run at the same time.
const AT_ONCE: usize = 8;

/// The most bytes of their replies.
const REPLIES: u64 = 64 << 20;

/// The longest wait for cancelled calls at the end of the call that made them: longer than the processes of a call may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a nested call ended.
pub(super) type End = Result<Arc<Outcome>, CallError>;

/// The calls that one running call makes. Clones belong to the same call.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    outer: CallId,
    caller: Arc<dyn NestedCalls>,
    /// Cancels all of them.
    stopped: CancellationToken,
    tasks: TaskTracker,
    turns: Semaphore,
    /// `None` until the records of an earlier run were read.
    numbers: Mutex<Option<Numbers>>,
    scratch: OnceCell<Scratch>,
    started: AtomicU32,
    replied: AtomicU64,
    /// The span of the running call, in which those of its calls are.
    span: tracing::Span,
}

/// Why a call was not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("{}; collect what you need with fewer calls", .0.reached(*.1))]
    Limit(LimitKind, u64),
    #[error(
        "the record of call {0} of an earlier run is damaged, so it cannot be said whether this call ran in it; it was not run"
    )]
    Damaged(u32),
    #[error("the calls of an earlier run cannot be read, so this call was not run: {0}")]
    Unreadable(String),
}

/// A nested call that was started.
#[derive(Clone, Debug)]
#[expect(unreachable_pub, reason = "the generated code re-exports it")]
pub struct Handle {
    id: CallId,
    cancelled: CancellationToken,
    ended: watch::Receiver<Option<End>>,
}

impl Session {
    /// Makes the session of a call. `cancelled` is cancelled with the call.
    pub(crate) fn new(
        outer: CallId,
        caller: Arc<dyn NestedCalls>,
        cancelled: &CancellationToken,
    ) -> Self {
        let inner = Inner {
            outer,
            caller,
            stopped: cancelled.child_token(),
            tasks: TaskTracker::new(),
            turns: Semaphore::new(AT_ONCE),
            numbers: Mutex::default(),
            scratch: OnceCell::new(),
            started: AtomicU32::new(0),
            replied: AtomicU64::new(0),
            span: tracing::Span::current(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the tools that can be called, apart from the grant.
    pub(super) fn tools(&self) -> Vec<Definition> {
        self.inner.caller.tools()
    }

    /// Returns the one of these with this name.
    pub(super) fn tool(&self, name: &str) -> Option<Definition> {
        self.inner.caller.tool(name)
    }

    /// Starts a call, which waits for its turn.
    pub(super) async fn start(
        &self,
        tool: String,
        arguments: Arguments,
    ) -> Result<Handle, StartError> {
        let inner = &self.inner;
        if inner.started.fetch_add(1, Ordering::Relaxed) >= CALLS {
            return Err(StartError::Limit(LimitKind::NestedCalls, CALLS.into()));
        }
        if inner.replied.load(Ordering::Relaxed) > REPLIES {
            return Err(StartError::Limit(LimitKind::NestedReplies, REPLIES));
        }
        let digest = Request::digest_of(&tool, &arguments);
        let number = self.number(&digest).await?;
        let id = inner.outer.nested(number);
        let id = id.ok_or(StartError::Limit(LimitKind::NestedCalls, CALLS.into()))?;
        let (teller, ended) = watch::channel(None);
        let cancelled = inner.stopped.child_token();
        let (shared, stop) = (Arc::clone(inner), cancelled.clone());
        let running = async move {
            let end = shared.run(number, tool, arguments, &stop).await;
            teller.send_replace(Some(end));
        };
        inner.tasks.spawn(running.instrument(inner.span.clone()));
        Ok(Handle {
            id,
            cancelled,
            ended,
        })
    }

    async fn number(&self, digest: &[u8; 32]) -> Result<u32, StartError> {
        let mut numbers = self.inner.numbers.lock().await;
        let numbers = match &mut *numbers {
            Some(numbers) => numbers,
            unread => {
                let made = self.inner.caller.made().await;
                let made = made.map_err(|error| StartError::Unreadable(error.to_string()))?;
                unread.insert(Numbers::new(&made))
            }
        };
        numbers.take(digest).map_err(StartError::Damaged)
    }

    /// Returns the scratch directory of the call, which the first use makes in this workspace.
    pub(super) async fn scratch(
        &self,
        workspace: &Arc<dyn Workspace>,
        chat: &ChatId,
        work: &Arc<CpuAccount>,
    ) -> Result<&Scratch, Error> {
        let make = || Scratch::make(Arc::clone(workspace), chat, &self.inner.outer, work);
        self.inner.scratch.get_or_try_init(make).await
    }

    /// Cancels the calls that still run, waits until they have ended, and removes the scratch directory.
    pub(crate) async fn end(&self) {
        self.inner.stopped.cancel();
        self.inner.tasks.close();
        let ended = tokio::time::timeout(PATIENCE, self.inner.tasks.wait()).await;
        if ended.is_err() {
            tracing::warn!(
                "a nested call was cancelled and still runs while the call ends that made it"
            );
        }
        if let Some(scratch) = self.inner.scratch.get() {
            scratch.end().await;
        }
    }
}

impl Inner {
    async fn run(
        &self,
        number: u32,
        tool: String,
        arguments: Arguments,
        stop: &CancellationToken,
    ) -> End {
        let turn = stop.run_until_cancelled(self.turns.acquire()).await;
        let Some(Ok(_turn)) = turn else {
            return Err(CallError::Refused(Refused::Cancelled));
        };
        let mut running = self.caller.run(number, tool, arguments);
        let ended = tokio::select! {
            biased;
            ended = &mut running => ended,
            // Whatever `running` holds, the cancellation may need: so both go on.
            () = stop.cancelled() => join(self.caller.cancel(number), running).await.1,
        };
        let outcome = ended?;
        let size = outcome.size() as u64;
        let replied = self.replied.fetch_add(size, Ordering::Relaxed);
        if replied.saturating_add(size) <= REPLIES {
            return Ok(outcome);
        }
        let text = LimitKind::NestedReplies.reached(REPLIES);
        let error = ToolError::new(ErrorKind::Limit, format!("{text}: the call ran"));
        let (id, tool) = (outcome.id.clone(), outcome.tool.as_str());
        Ok(Arc::new(Outcome::new(id, tool, Err(error))))
    }
}

impl Handle {
    /// Returns the id of the call.
    pub(super) fn id(&self) -> &CallId {
        &self.id
    }

    /// Returns whether the call has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Returns how the call ended; `None` while it waits or runs.
    pub(super) fn end(&self) -> Option<End> {
        self.ended.borrow().clone()
    }

    /// Waits until the call has ended.
    pub(super) async fn ended(mut self) {
        // The sender is dropped only after the end.
        _ = self.ended.wait_for(Option::is_some).await;
    }

    /// Cancels the call.
    pub(super) fn cancel(&self) {
        self.cancelled.cancel();
    }
}
