//! The answers of the ledger to a request, and to callers that wait.

use std::sync::Arc;

use tokio::sync::watch;

use crate::call::{Outcome, Refused};
use toolhost_state::id::{CallId, ChatId};

pub(super) type Key = (ChatId, CallId);

/// The answer to a waiting caller: nothing yet, the outcome, or why there will be none.
pub(super) type Completion = Option<Result<Arc<Outcome>, Refused>>;

/// The answer to a request for a call that is known.
pub(super) type Answer = Result<Standing, Refused>;

/// Where a call stands that was requested before.
#[derive(Debug)]
pub(super) enum Standing {
    Saved(Arc<Outcome>),
    Running(watch::Receiver<Completion>),
    /// It runs at another host.
    Elsewhere,
}

/// Waits for the completion of a call that runs; `None`: its task ends without one, because the runtime does, or because another host began
/// the call.
pub(super) async fn completion(mut waiter: watch::Receiver<Completion>) -> Completion {
    let completion = waiter.wait_for(Option::is_some).await;
    completion.ok()?.clone()
}

/// Waits for the outcome of a call that runs.
pub(super) async fn wait_for_outcome(
    waiter: watch::Receiver<Completion>,
) -> Result<Arc<Outcome>, Refused> {
    completion(waiter).await.unwrap_or(Err(Refused::Closed))
}
