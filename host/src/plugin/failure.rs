//! Why a guest gave no answer, in words for whoever called.

use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap};

use super::engine::WASM_STACK;
use super::limits::{Limiter, Limits, bytes};
use super::meter::GuestTimeExceeded;
use crate::tool::{ErrorKind, ToolError};

/// Why a guest gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// It reached one of its limits.
    #[error("the tool was stopped: {0}")]
    Limit(String),
    /// Its time is over.
    #[error("the tool was stopped: its deadline has passed")]
    Deadline,
    /// Somebody cancelled the call, and the guest did not reply in time.
    #[error("the call was cancelled")]
    Cancelled,
    /// The host has no room for another instance.
    #[error("the host has no room for another call now; try again later")]
    Crowded,
    /// Its exports have other types than the contract, which shows only when an instance is made.
    #[error("the tool does not fit the contract: {0}")]
    Unfit(String),
    /// It trapped, or what it replied makes no sense.
    #[error("the tool is broken: {0}")]
    Broken(String),
}

/// Marks errors of making an instance, as opposed to those of using it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("making an instance")]
pub(super) struct Instantiating;

impl Failure {
    /// Finds out what an error of wasmtime means.
    ///
    /// A guest that is refused memory mostly traps at some other place soon after, so a refusal explains every trap.
    pub(super) fn classify(error: &wasmtime::Error, limiter: &Limiter, limits: &Limits) -> Self {
        /// The type of this error is private to wasmtime; a test makes sure that its text is still the same.
        const HOST_CALL_DATA: &str = "fuel allocated for hostcalls has been exhausted";
        tracing::debug!(error = format!("{error:?}"), "a guest failed");
        if let Some(exceeded) = error.downcast_ref::<GuestTimeExceeded>() {
            return Self::Limit(exceeded.to_string());
        }
        if error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow) {
            return Self::Limit(format!("stack limit of {} reached", bytes(WASM_STACK)));
        }
        if let Some(refusal) = limiter.refusal() {
            return Self::Limit(refusal);
        }
        if matches!(
            error.downcast_ref::<ResourceTableError>(),
            Some(ResourceTableError::Full)
        ) {
            return Self::Limit(format!("limit of {} handles reached", limits.handles));
        }
        if error
            .chain()
            .any(|cause| cause.to_string().contains(HOST_CALL_DATA))
        {
            let limit = bytes(limits.host_call_data);
            return Self::Limit(format!(
                "limit of {limit} of data for one call into the host reached"
            ));
        }
        if error.is::<PoolConcurrencyLimitError>() {
            return Self::Crowded;
        }
        match error.downcast_ref::<Trap>() {
            Some(trap) => Self::Broken(trap.to_string()),
            None if error.is::<Instantiating>() => Self::Unfit(error.root_cause().to_string()),
            None => Self::Broken(error.root_cause().to_string()),
        }
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        let kind = match &failure {
            Failure::Limit(_) | Failure::Deadline => ErrorKind::Limit,
            Failure::Cancelled => ErrorKind::Cancelled,
            Failure::Crowded => ErrorKind::Unavailable,
            Failure::Unfit(_) | Failure::Broken(_) => ErrorKind::Broken,
        };
        Self::new(kind, failure.to_string())
    }
}
