//! Why a request gets no outcome.

use super::Refused;

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
    Refused(#[from] Refused),
}

impl CallError {
    /// Returns the reason in snake case, which is a label of a metric.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Refused(refused) => refused.into(),
            other => other.into(),
        }
    }
}
