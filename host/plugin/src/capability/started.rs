//! The processes that a call started. A call that ends without a reply ends its foreground processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, join_all};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;

/// The processes that a call started. Shared with the tasks that start them, which outlive a guest that is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Started {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    workspace: Arc<dyn Workspace>,
    chat: ChatId,
    processes: Mutex<Processes>,
    starting: TaskTracker,
    /// How many starts the guest has requested.
    asked: AtomicU64,
    /// Cancelled once the guest was told that the call is cancelled.
    heard: CancellationToken,
    /// Whether the workspace does not know the outcome of an operation.
    uncertain: AtomicBool,
}

#[derive(Debug, Default)]
struct Processes {
    known: Vec<Process>,
    /// Whether the call has ended without a reply, so that no client learns of another process.
    abandoned: bool,
}

/// A process, and its end once that has begun.
#[derive(Debug)]
struct Process {
    started: StartedProcess,
    end: Option<End>,
}

type End = Shared<BoxFuture<'static, ()>>;

#[derive(Clone, Debug)]
pub(crate) struct StartedProcess {
    pub(crate) id: String,
    pub(crate) background: bool,
}

impl Started {
    pub(crate) fn new(workspace: Arc<dyn Workspace>, chat: ChatId) -> Self {
        let inner = Inner {
            workspace,
            chat,
            processes: Mutex::default(),
            starting: TaskTracker::new(),
            asked: AtomicU64::new(0),
            heard: CancellationToken::new(),
            uncertain: AtomicBool::new(false),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Counts a start, and returns its number within the call, from 0 on.
    pub(super) fn next(&self) -> u64 {
        self.inner.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the tasks that start processes.
    pub(super) fn starting(&self) -> &TaskTracker {
        &self.inner.starting
    }

    /// Returns whether the guest was told that the call is cancelled.
    pub(crate) fn heard_of_cancellation(&self) -> bool {
        self.inner.heard.is_cancelled()
    }

    /// Notes that the guest was told that the call is cancelled, and begins to end its processes.
    pub(super) fn end_as_cancelled(&self) {
        self.inner.heard.cancel();
        self.begin_ends();
    }

    /// Returns whether the workspace does not know the outcome of an operation that the guest asked for.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.inner.uncertain.load(Ordering::Relaxed)
    }

    /// Notes that the workspace does not know the outcome of an operation.
    pub(super) fn note_uncertain(&self) {
        self.inner.uncertain.store(true, Ordering::Relaxed);
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.inner.processes.lock()
    }

    /// Notes a process, and returns whether the call can still name it. If it cannot, the process must be ended.
    pub(super) fn push(&self, started: StartedProcess) -> bool {
        let mut processes = self.processes();
        if !processes.abandoned {
            processes.known.push(Process { started, end: None });
        }
        !processes.abandoned
    }

    /// Waits until every start under way is known. Returns all of them in order, and whether one is still under way.
    ///
    /// A start can hang for as long as a file system does. The call waits at most a few seconds. If the call did not reply, a
    /// process that starts later is ended at once.
    pub(crate) async fn all(&self, replied: bool) -> (Vec<StartedProcess>, bool) {
        const PATIENCE: Duration = Duration::from_secs(5);
        let starting = &self.inner.starting;
        starting.close();
        let known = tokio::time::timeout(PATIENCE, starting.wait()).await;
        if known.is_err() {
            tracing::warn!("a process is still being started while its call ends");
        }
        let mut processes = self.processes();
        processes.abandoned = !replied;
        let all = processes.known.iter().map(|known| known.started.clone());
        (all.collect(), known.is_err())
    }

    /// Ends the processes that were started in the foreground, each with SIGTERM and SIGKILL after the grace. Returns when
    /// nothing of them is left, or the workspace gave them up. They are ended even if the returned future is dropped.
    pub(crate) async fn end(&self) {
        join_all(self.begin_ends()).await;
    }

    /// Waits until a process that the call ends has ended. Returns at once for a process that the call leaves running.
    pub(super) async fn ended(&self, id: &str) {
        let end = {
            let processes = self.processes();
            let known = processes.known.iter().find(|known| known.started.id == id);
            known.and_then(|known| known.end.clone())
        };
        if let Some(end) = end {
            end.await;
        }
    }

    /// Returns when a guest whose call was cancelled has had this time to reply. It is not charged for the time in which its
    /// processes end.
    pub(crate) async fn grace(&self, time: Duration) {
        let until = Instant::now() + time;
        let heard = self.inner.heard.cancelled();
        if tokio::time::timeout_at(until, heard).await.is_err() {
            return;
        }
        let left = until.saturating_duration_since(Instant::now());
        self.end().await;
        tokio::time::sleep(left).await;
    }

    /// Begins to end the foreground processes, each once.
    fn begin_ends(&self) -> Vec<End> {
        let mut processes = self.processes();
        let known = processes.known.iter_mut();
        let foreground = known.filter(|known| !known.started.background);
        let ends = foreground.map(|Process { started, end }| {
            let end = end.get_or_insert_with(|| self.begin_end(started.id.clone()));
            end.clone()
        });
        ends.collect()
    }

    fn begin_end(&self, id: String) -> End {
        let (workspace, chat) = (Arc::clone(&self.inner.workspace), self.inner.chat.clone());
        let ending = tokio::spawn(async move {
            if let Err(error) = workspace.end(Some(&chat), &id).await {
                tracing::warn!(process = id, %error, "failed to end the process of a call");
            }
        });
        ending.map(|_| ()).boxed().shared()
    }
}
