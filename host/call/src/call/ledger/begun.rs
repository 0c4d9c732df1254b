//! The answer to a request for a call: a call that is known, or the permit to run it.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::{Key, Standing, completion};
use super::execution::Execution;
use super::running::Running;
use super::shared::{Admitted, Shared};
use crate::call::digests::Digests;
use crate::call::{Outcome, Refused, Request};
use toolhost_state::turns::Turn;
use toolhost_state::unix_time;

/// The answer to a request for a call.
#[derive(Debug)]
pub enum Begun {
    /// The call is known: it has ended, or it runs.
    Known(Known),
    /// The call is new, and has to be [run](Permit::run).
    New(Permit),
}

/// A call that the ledger knows.
#[derive(Debug)]
pub struct Known {
    shared: Arc<Shared>,
    key: Key,
    standing: Standing,
}

/// The permit of the ledger to run a call that is new, or that was interrupted and may run again. Until it is used or dropped, other
/// requests for the call wait. If it is dropped, the call leaves no record, and a repeat can run.
#[derive(Debug)]
pub struct Permit {
    shared: Arc<Shared>,
    request: Arc<Request>,
    digests: Digests,
    turn: Turn<Key>,
    /// The outcome that an interrupted call has, unless it runs again.
    interrupted: Option<Arc<Outcome>>,
    cancelled: CancellationToken,
}

impl Known {
    pub(super) fn new(shared: &Arc<Shared>, key: Key, standing: Standing) -> Self {
        Self {
            shared: Arc::clone(shared),
            key,
            standing,
        }
    }

    /// Returns the outcome of the call, once it has one. `None`: the call ran at another host, and may now be [begun](super::Ledger::begin)
    /// here.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    pub async fn outcome(self) -> Result<Option<Arc<Outcome>>, Refused> {
        match self.standing {
            Standing::Saved(outcome) => Ok(Some(outcome)),
            Standing::Running(waiter) => match completion(waiter).await {
                // Another host began the call at the same time.
                None if self.shared.keeper.store.is_shared() => Ok(None),
                completion => completion.unwrap_or(Err(Refused::Closed)).map(Some),
            },
            Standing::Elsewhere => self.shared.settled(self.key).await.map(|()| None),
        }
    }
}

impl Permit {
    pub(super) fn new(
        shared: &Arc<Shared>,
        request: &Arc<Request>,
        digests: Digests,
        turn: Turn<Key>,
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
