//! The permit to run a call that is new.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::{Key, Known, Standing};
use super::execution::Execution;
use super::running::Running;
use super::shared::Shared;
use super::turn::Turn;
use crate::call::digests::Digests;
use crate::call::{Outcome, Refused, Request};
use toolhost_state::unix_time;

/// The permit of the ledger to run a call that is new, or that was interrupted and may run again. Until it is used or dropped, other
/// requests for the call wait. If it is dropped, the call leaves no record, and a repeat can run.
#[derive(Debug)]
pub struct Permit {
    shared: Arc<Shared>,
    request: Arc<Request>,
    digests: Digests,
    turn: Turn,
    /// The outcome that an interrupted call has, unless it runs again.
    interrupted: Option<Arc<Outcome>>,
    cancelled: CancellationToken,
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

impl Permit {
    pub(super) fn new(
        shared: &Arc<Shared>,
        request: &Arc<Request>,
        digests: Digests,
        turn: Turn,
        interrupted: Option<Arc<Outcome>>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            request: Arc::clone(request),
            digests,
            turn,
            interrupted,
            cancelled: shared.stopping.child_token(),
        }
    }

    /// Returns the token that is cancelled when the call is.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Returns whether the call runs again, because it was interrupted.
    pub fn is_resumed(&self) -> bool {
        self.interrupted.is_some()
    }

    /// Runs the call, as a task on the runtime that the ledger was made in, so that it outlives its caller. A call that was interrupted and
    /// is not resumable keeps its outcome instead. If the execution panics, the call has failed.
    ///
    /// # Errors
    ///
    /// [`Refused::Busy`] if the chat is being ended.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, if the ledger was made outside of one.
    pub fn run<R>(self, admitted: Admitted<R>) -> Result<Known, Refused>
    where
        R: Future<Output = Result<Outcome, Refused>> + Send + 'static,
    {
        let Self {
            shared,
            request,
            digests,
            turn,
            interrupted,
            cancelled,
        } = self;
        let key: Key = (request.chat.clone(), request.id.clone());
        let is_resumed = interrupted.is_some();
        if let Some(outcome) = interrupted.filter(|_| !admitted.resumable) {
            // The plugin may have effects of its own since.
            return Ok(Known::new(&shared, key, Standing::Saved(outcome)));
        }
        let digest = digests.for_record(admitted.resumable && !admitted.read_only);
        let (completion, waiter) = watch::channel(None);
        let began_ms = unix_time::now_ms();
        {
            let mut calls = shared.calls.lock();
            if calls.closing.contains_key(&request.chat) {
                let text = "the chat is being ended: try again when it has".to_owned();
                return Err(Refused::Busy(text));
            }
            let running = Running {
                digest,
                request: Arc::clone(&request),
                number: calls.take_number(),
                since: Instant::now(),
                began_ms,
                cancelled,
                tombstone: false,
                is_stored: false,
                told: waiter.clone(),
            };
            calls.running.insert(key.clone(), running);
        }
        let known = Known::new(&shared, key, Standing::Running(waiter));
        let begins = (digest, began_ms);
        let execution =
            Execution::new(Arc::clone(&shared), request, begins, completion, is_resumed);
        shared.spawn(execution.run(turn, admitted));
        Ok(known)
    }
}
