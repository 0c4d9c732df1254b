//! The answers of the ledger about one call: its status, and the result of a cancellation.

use std::sync::Arc;

use tokio::time::Instant;

use super::actor::includes;
use super::{Actor, Outcome, ToolSet};

/// Where a call stands, for a client that asks without calling.
#[derive(Clone, Debug)]
pub enum CallStatus {
    /// It has not ended.
    Live {
        /// The tool that was called.
        tool: String,
        /// When it began.
        since: Instant,
    },
    /// It has ended.
    Ended(Arc<Outcome>),
    /// It has ended, and its outcome is no longer kept.
    Gone,
    /// It was cancelled before it arrived, and will not run.
    Tombstone {
        /// The tools whose calls do not run under this id; `None`: all.
        tools: ToolSet,
    },
}

impl CallStatus {
    /// Returns whether the actor may see a call of this status.
    ///
    /// An actor that is bound to some tools does not see a call of which only the id is left, because its tool is no longer
    /// known. The actor sees a tombstone if that stops calls that the actor could make.
    pub fn is_visible_to(&self, actor: &Actor) -> bool {
        match self {
            Self::Live { tool, .. } => actor.may_use(tool),
            Self::Ended(outcome) => actor.may_use(&outcome.tool),
            Self::Gone => actor.may_use_all(),
            Self::Tombstone { tools } => match (tools, actor.tools()) {
                (Some(_), Some(own)) => own.iter().any(|tool| includes(tools, tool)),
                (None, _) | (_, None) => true,
            },
        }
    }
}

/// The result of cancelling a call.
#[derive(Clone, Debug)]
pub enum Cancelled {
    /// How the call ended: perhaps before it was cancelled.
    Ended(Arc<Outcome>),
    /// No such call has arrived. When it does, it will not run.
    ///
    /// A caller that may not use all tools gets this as well if the id is that of a call of a tool that it may not use: the
    /// id is taken, and a call of another tool does not run under it.
    Tombstone,
    /// The call has ended, and its outcome is no longer kept.
    Gone,
}
