//! Failures of guests, with texts for the caller.

use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap};

use super::limiter::Limiter;
use super::limits::{Limits, WASM_STACK};
use super::meter::GuestTimeExceeded;
use super::reached::Reached;
use crate::effects::TurnedAway;
use toolhost_call::call::Refused;
use toolhost_call::metrics::LimitKind;
use toolhost_call::tool::{ErrorKind, ToolError};

/// A reason why a guest gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// The guest reached one of its limits.
    #[error("the tool was stopped: {0}")]
    Limit(Reached),
    /// The call was cancelled, and the guest did not reply in time.
    #[error("the call was cancelled")]
    Cancelled,
    /// The machine is short of something that the call needed before it had any effect.
    #[error("{0}")]
    TurnedAway(Refused),
    /// The host has no room for another instance.
    #[error("the host has no room for another call now; try again later")]
    Crowded,
    /// The guest's exports have other types than the contract. This shows only when an instance is made.
    #[error("the tool does not fit the contract: {0}")]
    Unfit(String),
    /// The guest trapped.
    #[error("the tool is broken: {0}")]
    Trap(String),
    /// The guest's reply makes no sense, or the host failed.
    #[error("the tool is broken: {0}")]
    Broken(String),
}

/// Marks errors of making an instance, as opposed to those of using it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("making an instance")]
pub(super) struct Instantiating;

impl Failure {
    /// Returns whether the host or its machine was short of something. Then a call without effects runs later. The memory of all
    /// guests is not among these: one call alone may need more than there is.
    pub(super) fn is_shortage(&self) -> bool {
        matches!(self, Self::TurnedAway(_) | Self::Crowded)
    }

    /// Classifies an error of wasmtime.
    ///
    /// A guest that is refused memory mostly traps at another place soon after, so a refusal explains every trap.
    pub(super) fn classify(error: &wasmtime::Error, limiter: &Limiter, limits: &Limits) -> Self {
        /// The type of this error is private to wasmtime; a test makes sure that its text is still the same.
        const HOST_CALL_DATA: &str = "fuel allocated for hostcalls has been exhausted";
        /// This error has no type of its own; a test makes sure that its text is still the same.
        const INSTANCES: &str = "resource limit exceeded: instance count";
        tracing::debug!(error = format!("{error:?}"), "a guest failed");
        let says = |text| {
            let mut causes = error.chain();
            causes.any(|cause| cause.to_string().contains(text))
        };
        if let Some(TurnedAway(reason)) = error.downcast_ref() {
            return Self::TurnedAway(reason.clone());
        }
        if let Some(exceeded) = error.downcast_ref::<GuestTimeExceeded>() {
            return Self::Limit(Reached::time(LimitKind::GuestTime, exceeded.0));
        }
        if error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow) {
            return Self::Limit(Reached::of(LimitKind::Stack, WASM_STACK));
        }
        if let Some(refusal) = limiter.refusal() {
            return Self::Limit(refusal);
        }
        if matches!(
            error.downcast_ref::<ResourceTableError>(),
            Some(ResourceTableError::Full)
        ) {
            return Self::Limit(Reached::of(LimitKind::Handles, limits.handles));
        }
        if says(HOST_CALL_DATA) {
            return Self::Limit(Reached::of(LimitKind::HostCallData, limits.host_call_data));
        }
        if says(INSTANCES) {
            return Self::Limit(Reached::of(LimitKind::Instances, limits.instances));
        }
        if error.is::<PoolConcurrencyLimitError>() {
            return Self::Crowded;
        }
        match error.downcast_ref::<Trap>() {
            Some(trap) => Self::Trap(trap.to_string()),
            // The causes of this error name the function.
            None if error.is::<Instantiating>() => {
                let causes: Vec<_> = error.chain().skip(1).map(ToString::to_string).collect();
                Self::Unfit(causes.join(": "))
            }
            None => Self::Trap(error.root_cause().to_string()),
        }
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        let kind = match &failure {
            Failure::Limit(reached) if reached.kind == LimitKind::MemoryInAll => {
                ErrorKind::Unavailable
            }
            Failure::Limit(_) => ErrorKind::Limit,
            Failure::Cancelled => ErrorKind::Cancelled,
            Failure::TurnedAway(_) | Failure::Crowded => ErrorKind::Unavailable,
            Failure::Unfit(_) | Failure::Trap(_) | Failure::Broken(_) => ErrorKind::Broken,
        };
        Self::new(kind, failure.to_string())
    }
}
