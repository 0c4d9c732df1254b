//! Why a request gets no outcome.

use std::time::Duration;

use super::WorkspaceError;

/// Why a request gets no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CallError {
    /// There is no such tool.
    #[error("there is no tool {name:?}; the tools are {}", .known.join(", "))]
    UnknownTool {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The ledger refuses it.
    #[error(transparent)]
    Refused(Refused),
    /// The workspace of its chat cannot be had. Nothing ran.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl CallError {
    /// Returns the reason in snake case, which is a label of a metric.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Refused(refused) => refused.into(),
            Self::Workspace(error) => error.into(),
            other => other.into(),
        }
    }
}

/// Why a request with a known id gets no outcome. The name of a variant in snake case is a label of a metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Refused {
    /// The id was used for another tool or other arguments.
    #[error("this call id was used with another tool or other arguments")]
    InputMismatch,
    /// The call was cancelled: before it arrived, while it ran, or after its end.
    /// [`Ledger::status`](super::Ledger::status) says which.
    #[error(
        "the call was cancelled, perhaps after it had run: ask for its state to see what came of it"
    )]
    Cancelled,
    /// The call has ended, and its outcome is no longer kept.
    #[error("reply no longer kept")]
    Gone,
    /// There is no place for another call now. Nothing ran.
    #[error("{0}")]
    Busy(String),
    /// The plugin trapped too often, and is left alone for a while. Nothing ran.
    #[error(
        "plugin {plugin} is quarantined for another {} s, because it trapped {traps} times in a row; other tools can be used",
        seconds(*.again_in)
    )]
    Quarantined {
        /// The name of the plugin.
        plugin: String,
        /// How many traps in a row are too many.
        traps: u32,
        /// When to try again.
        again_in: Duration,
    },
    /// There is no such tool yet: plugins are still being loaded. Nothing ran.
    #[error("there is no tool {0:?} yet: plugins are still being loaded; try again in a moment")]
    Loading(String),
    /// The call cannot be recorded, and must not run without that. Nothing ran.
    #[error(
        "the call was not started, because it cannot be recorded ({0}); repeat it once that is repaired"
    )]
    Unrecorded(String),
    /// The store cannot say now what became of a call, or take a cancellation. Nothing changed.
    #[error("the records of calls cannot be reached now ({0}); ask again in a moment")]
    Unreadable(String),
    /// The workspace of the call cannot be used now. Nothing ran.
    #[error(transparent)]
    Workspace(WorkspaceError),
    /// The host is shutting down. Nothing ran.
    #[error("the host is shutting down")]
    Closed,
}

impl From<Refused> for CallError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Workspace(error) => Self::Workspace(error),
            refused => Self::Refused(refused),
        }
    }
}

/// Returns a time in seconds, rounded up, so that a client that retries then is not too early.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Refused {
    /// Returns after how many seconds it is worth trying again, if it is.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Busy(_) | Self::Loading(_) | Self::Unrecorded(_) | Self::Unreadable(_) => Some(1),
            Self::Quarantined { again_in, .. } => Some(seconds(*again_in).max(1)),
            Self::Workspace(error) => error.retry_after(),
            Self::InputMismatch | Self::Cancelled | Self::Gone | Self::Closed => None,
        }
    }
}
