//! The state that all clones of a ledger share, and the values that its users give it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::Key;
use super::keeper::Keeper;
use super::running::Calls;
use super::sweeper::Sweeper;
use crate::call::{Limits, Outcome, Refused, Request};
use toolhost_state::id::ChatId;
use toolhost_state::turns::Turns;

/// A listener to the changes of calls, in order for each call. Its methods must not block.
pub trait Listener: Send + Sync {
    /// A call begins.
    fn begun(&self, request: &Request);

    /// A call has ended.
    fn ended(&self, chat: &ChatId, outcome: &Outcome);

    /// A call that had begun was turned away: it ran nothing, and a repeat runs it.
    fn turned_away(&self, request: &Request);
}

/// The execution of a call that was admitted.
#[derive(Debug)]
pub struct Admitted<R> {
    /// The execution, which has not begun yet: a future with the outcome of the call. If the execution is refused, the call had no effect;
    /// the ledger forgets that it began, and a repeat runs it.
    pub execution: R,
    /// Whether the call changes nothing: then it may run again after a crash, so its start is not written down.
    pub read_only: bool,
    /// Whether a repeat runs the call again if its host was killed while it ran: all its effects are nested calls, which run once.
    pub resumable: bool,
}

/// See [`Ledger`](super::Ledger).
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) calls: Mutex<Calls>,
    /// Requests for one call ask the store one after the other.
    pub(super) turns: Turns<Key>,
    pub(super) keeper: Keeper,
    pub(super) sweeper: Sweeper,
    pub(super) listener: Option<Box<dyn Listener>>,
    /// Cancels every call.
    pub(super) stopping: CancellationToken,
    /// The executions, up to when their callers were told.
    pub(super) tasks: TaskTracker,
    /// The runtime in which calls run, so that they do not depend on that of a caller; `None`: the runtime of the caller.
    pub(super) runtime: Option<Handle>,
}

impl Shared {
    /// Waits until a call runs at no other host.
    pub(super) async fn settled(&self, key: Key) -> Result<(), Refused> {
        let settled = self.keeper.settled(key);
        let settled = self.stopping.run_until_cancelled(settled).await;
        settled.unwrap_or(Err(Refused::Closed)).map(drop)
    }

    /// Runs a task on the runtime of the ledger.
    pub(super) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => self.tasks.spawn_on(task, runtime),
            None => self.tasks.spawn(task),
        };
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Ledger");
        shown.field("limits", &self.limits).finish_non_exhaustive()
    }
}
