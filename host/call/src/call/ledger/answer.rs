//! The answers of the ledger to a request, and to callers that wait.

use std::sync::Arc;

use tokio::sync::watch;

use super::permit::Permit;
use super::shared::Shared;
use crate::call::{Outcome, Refused};
use toolhost_state::id::{CallId, ChatId};

pub(super) type Key = (ChatId, CallId);

/// The answer to a waiting caller: nothing yet, the outcome, or why there will be none.
pub(super) type Completion = Option<Result<Arc<Outcome>, Refused>>;

/// The answer to a request for a call that is known.
pub(super) type Answer = Result<Standing, Refused>;

/// What a request for a call finds.
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

/// Where a call stands that was requested before.
#[derive(Debug)]
pub(super) enum Standing {
    Saved(Arc<Outcome>),
    Running(watch::Receiver<Completion>),
    /// It runs at another host.
    Elsewhere,
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

/// Waits for the completion of a call that runs; `None`: its task ends without one, because the runtime does, or because another host began
/// the call.
async fn completion(mut waiter: watch::Receiver<Completion>) -> Completion {
    let completion = waiter.wait_for(Option::is_some).await;
    completion.ok()?.clone()
}

/// Waits for the outcome of a call that runs.
pub(super) async fn wait_for_outcome(
    waiter: watch::Receiver<Completion>,
) -> Result<Arc<Outcome>, Refused> {
    completion(waiter).await.unwrap_or(Err(Refused::Closed))
}
