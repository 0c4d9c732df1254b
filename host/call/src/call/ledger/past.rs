//! The calls that do not run: what the store says of them, as the ledger answers with it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;
use toolhost_store::{Call, CallState};

use super::answer::{Answer, Standing};
use crate::call::digests::Digests;
use crate::call::{CallStatus, Outcome, Refused, State, ToolSet, includes};
use crate::tool::{ErrorKind, Reply, ToolError};
use toolhost_state::id::CallId;
use toolhost_state::unix_time;

/// A call that does not run.
#[derive(Debug)]
pub(super) enum Past {
    /// It has ended; without an outcome, that is no longer kept.
    Ended {
        digest: [u8; 32],
        tombstone: bool,
        outcome: Option<Arc<Outcome>>,
    },
    /// It was cancelled before it arrived: calls of these tools do not run.
    Tombstone { tools: ToolSet },
    /// It cannot be said whether it ran.
    Lost,
    /// It runs at another host.
    Elsewhere {
        digest: [u8; 32],
        tool: String,
        began_ms: u64,
    },
}

/// What a model reads of a call that ran when its host stopped.
pub const HOST_STOPPED: &str = "outcome unknown: the host stopped while this call ran; it was not run again. Look at what it has done before \
    you run it again";

/// Returns the outcome of a call of which the store cannot say whether it ran.
pub(super) fn lost(id: &CallId, tool: &str) -> Outcome {
    let text = "outcome unknown: the record of this call is damaged or could not be stored, so it cannot be said whether it ran; it was not \
                run again. Look at what it has done before you run it again";
    unknown(id, tool, text)
}

fn unknown(id: &CallId, tool: &str, text: &str) -> Outcome {
    let error = ToolError::new(ErrorKind::UnknownOutcome, text.to_owned());
    Outcome::new(id.clone(), tool, Err(error))
}

/// Returns the state of an outcome as a store knows it. A reply with `"success": false` is not successful.
pub(super) fn state(outcome: &Outcome) -> CallState {
    match outcome.state() {
        State::Queued | State::Running => CallState::Running,
        State::Finished if is_success(outcome) => CallState::Finished,
        State::Finished => CallState::Unsuccessful,
        State::Failed => CallState::Failed,
        State::Cancelled => CallState::Cancelled,
        State::Unknown => CallState::Unknown,
    }
}

fn is_success(outcome: &Outcome) -> bool {
    #[derive(Deserialize)]
    struct Said {
        success: Option<bool>,
    }
    let said = outcome.result.as_ref().ok().and_then(Reply::structured);
    let said = said.and_then(|json| serde_json::from_str::<Said>(json.get()).ok());
    !outcome.is_error() && said.and_then(|said| said.success) != Some(false)
}

impl Past {
    /// Makes it of the record of a store.
    pub(super) fn of(call: Call) -> Self {
        match call.state {
            CallState::Tombstone => Self::Tombstone {
                tools: set(call.tools),
            },
            CallState::Running if call.is_elsewhere => Self::Elsewhere {
                digest: call.digest,
                tool: call.tool,
                began_ms: call.began_ms,
            },
            // The ledger runs it no more, and never learnt how it ended.
            CallState::Running => Self::Lost,
            CallState::Unknown if call.tool.is_empty() => Self::Lost,
            CallState::Finished
            | CallState::Unsuccessful
            | CallState::Failed
            | CallState::Cancelled
            | CallState::Unknown => {
                Self::Ended {
                    digest: call.digest,
                    tombstone: call.cancelled,
                    outcome: match &call.outcome {
                        Some(outcome) => read(outcome),
                        // A host that was killed while it started gave the call no outcome.
                        None if call.state == CallState::Unknown => call
                            .call
                            .as_ref()
                            .map(|id| Arc::new(unknown(id, &call.tool, HOST_STOPPED))),
                        None => None,
                    },
                }
            }
        }
    }

    /// Answers a request with this id; `None`: the call may run, because the record is a tombstone of other tools.
    pub(super) fn answer(self, asked: &Digests, id: &CallId, tool: &str) -> Option<Answer> {
        Some(match self {
            Self::Tombstone { tools } if !includes(&tools, tool) => return None,
            Self::Tombstone { .. } => Err(Refused::Cancelled),
            Self::Lost => Ok(Standing::Saved(Arc::new(lost(id, tool)))),
            Self::Ended { digest, .. } | Self::Elsewhere { digest, .. }
                if !asked.include(&digest) =>
            {
                Err(Refused::InputMismatch)
            }
            Self::Elsewhere { .. } => Ok(Standing::Elsewhere),
            Self::Ended {
                tombstone: true, ..
            } => Err(Refused::Cancelled),
            Self::Ended { outcome, .. } => outcome.map(Standing::Saved).ok_or(Refused::Gone),
        })
    }

    /// Returns the outcome that a repeat gets if the call may not run again; `None` unless the call was interrupted and its record says
    /// that it may run again.
    pub(super) fn interrupted(&self, asked: &Digests) -> Option<Arc<Outcome>> {
        match self {
            Self::Ended {
                digest,
                tombstone: false,
                outcome: Some(outcome),
            } if *digest == asked.resumable && outcome.state() == State::Unknown => {
                Some(Arc::clone(outcome))
            }
            _ => None,
        }
    }

    /// Returns where the call stands.
    pub(super) fn status(self, id: &CallId) -> CallStatus {
        match self {
            Self::Ended { outcome, .. } => outcome.map_or(CallStatus::Gone, CallStatus::Ended),
            Self::Tombstone { tools } => CallStatus::Tombstone { tools },
            Self::Lost => CallStatus::Ended(Arc::new(lost(id, ""))),
            Self::Elsewhere { tool, began_ms, .. } => {
                let ran = unix_time::now_ms().saturating_sub(began_ms);
                let since = Instant::now().checked_sub(Duration::from_millis(ran));
                CallStatus::Live {
                    tool,
                    since: since.unwrap_or_else(Instant::now),
                }
            }
        }
    }
}

/// Reads the outcome that a store has.
pub(super) fn read(json: &str) -> Option<Arc<Outcome>> {
    match serde_json::from_str(json) {
        Ok(outcome) => Some(Arc::new(outcome)),
        Err(error) => {
            tracing::warn!(%error, "an outcome in the store cannot be read");
            None
        }
    }
}

pub(super) fn set(tools: Option<BTreeSet<String>>) -> ToolSet {
    tools.map(Arc::new)
}
