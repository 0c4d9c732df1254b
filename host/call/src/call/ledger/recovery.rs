//! Taking over the calls of an earlier host.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;
use toolhost_store::{Call, Durability, EndedCall, HostState, NewCall, Store, StoreError};

use super::past::{self, HOST_STOPPED};
use super::{Ledger, Listener};
use crate::call::{Limits, Outcome};
use crate::tool::{ErrorKind, ToolError};
use toolhost_state::id::{CallId, ChatId};

/// A call that had begun, and not ended, when an earlier host stopped.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// Its id.
    pub call: CallId,
    /// The tool that was called.
    pub tool: String,
    /// When it began.
    pub started: SystemTime,
    began_ms: u64,
    digest: [u8; 32],
    principal: String,
    /// Whether it was cancelled. Its processes are to be ended then.
    pub cancelled: bool,
}

impl Interrupted {
    /// Returns `None` for a call of which only the digest of the id is left.
    fn of(call: Call) -> Option<Self> {
        let digest = call.digest;
        Some(Self {
            chat: call.chat?,
            call: call.call?,
            tool: call.tool,
            started: SystemTime::UNIX_EPOCH + Duration::from_millis(call.began_ms),
            began_ms: call.began_ms,
            digest,
            principal: call.principal,
            cancelled: call.cancelled,
        })
    }
}

impl Ledger {
    /// Makes a ledger that is part of a host: it reports to `listener`, if there is one, ends with `stopping`, and keeps calls in this store, which
    /// has this durability.
    ///
    /// Returns the calls that were interrupted, too. They have to be [settled](Ledger::settle) before a repeat can come.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn open(
        limits: Limits,
        (store, durability): (Arc<dyn Store>, Durability),
        listener: Option<Box<dyn Listener>>,
        stopping: CancellationToken,
    ) -> Result<(Self, Vec<Interrupted>), StoreError> {
        let ledger = Self::with(limits, store, durability, listener, stopping);
        let interrupted = ledger.take_over().await?;
        ledger.shared.bound().await;
        Ok((ledger, interrupted))
    }

    /// Makes a ledger that keeps calls in this state, for a program that knows nothing else of them: the outcome of those that were
    /// interrupted is unknown.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn open_alone(limits: Limits, state: &HostState) -> Result<Self, StoreError> {
        let kept = (Arc::clone(state.store()), state.durability());
        let stopping = CancellationToken::new();
        let (ledger, interrupted) = Self::open(limits, kept, None, stopping).await?;
        for call in interrupted {
            let error = ToolError::new(ErrorKind::UnknownOutcome, HOST_STOPPED);
            let outcome = Outcome::new(call.call.clone(), call.tool.as_str(), Err(error));
            ledger.settle(&call, outcome).await;
        }
        Ok(ledger)
    }

    /// Takes over the calls of hosts that have ended or have lost their lease. They have to be [settled](Ledger::settle).
    ///
    /// # Errors
    ///
    /// If the store cannot be reached.
    pub async fn take_over(&self) -> Result<Vec<Interrupted>, StoreError> {
        let interrupted = self.shared.keeper.store.interrupt().await?;
        Ok(interrupted
            .into_iter()
            .filter_map(Interrupted::of)
            .collect())
    }

    /// Gives an interrupted call its outcome. The call will not run again.
    pub async fn settle(&self, interrupted: &Interrupted, outcome: Outcome) {
        let ended = EndedCall {
            call: NewCall {
                chat: interrupted.chat.clone(),
                call: interrupted.call.clone(),
                tool: interrupted.tool.clone(),
                principal: interrupted.principal.clone(),
                digest: interrupted.digest,
                arguments: None,
                began_ms: interrupted.began_ms,
            },
            state: past::state(&outcome),
            cancelled: interrupted.cancelled,
            outcome: serialized(&outcome),
        };
        self.shared.keeper.end(ended, None).await;
        if self.shared.keeper.store.is_shared()
            && let Some(listener) = &self.shared.listener
        {
            listener.ended(&interrupted.chat, &outcome);
        }
    }
}

/// Returns an outcome as the store keeps it.
pub(super) fn serialized(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).unwrap_or_else(|error| {
        // The call has ended, and its outcome cannot be read: a repeat hears that it is no longer kept.
        tracing::warn!(%error, "an outcome cannot be written down");
        String::new()
    })
}
