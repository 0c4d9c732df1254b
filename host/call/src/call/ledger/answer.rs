//! The answers of the ledger to a request, and to callers that wait.

use std::sync::Arc;

use tokio::sync::watch;

use crate::call::{Outcome, Refused};
use toolhost_state::id::{CallId, ChatId};

pub(super) type Key = (ChatId, CallId);

/// The answer to a waiting caller: nothing yet, the outcome, or why there will be none.
pub(super) type Completion = Option<Result<Arc<Outcome>, Refused>>;

/// The answer to a request.
pub(super) type Answer = Result<Begun, Refused>;

/// A call that a request finds or begins.
#[derive(Debug)]
pub(super) enum Begun {
    Saved(Arc<Outcome>),
    Running(watch::Receiver<Completion>),
    /// It runs at another host.
    Elsewhere,
}
