//! A call in a list.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use toolhost_call::call::{CallState, CallSummary, Outcome};

/// A call in a list. The reply of the call is at `/v1/chats/{chat}/calls/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedCall {
    /// The chat of the call.
    #[schema(examples("support-42"))]
    pub chat: String,
    /// The id of the call.
    #[schema(examples("call_7Qx"))]
    pub id: String,
    /// The tool that was called.
    #[schema(examples("execute"))]
    pub tool: String,
    /// Where it stands.
    pub state: ListedState,
    /// Whether the tool replied without an error, and without `"success": false`; absent while the call runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// The name of the token that called, for tokens without bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub began_at_unix_ms: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_unix_ms: Option<u64>,
    /// How long it ran, in milliseconds, as its reply says; absent while the call runs, and if its reply does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How long it waited before it ran, in milliseconds; absent while the call runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// The CPU time of the tool itself, without its commands, in milliseconds; absent while the call runs, and for a call that did not
    /// reach its tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_ms: Option<u64>,
    /// The bytes of its arguments, if the operator has arguments kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<u64>,
    /// The bytes of its reply; absent while the call runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_bytes: Option<u64>,
}

/// `running`; `finished`: the tool replied; `failed`: the host ended the call; `cancelled`; `unknown`: the host or the workspace
/// stopped meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    /// The call runs.
    Running,
    /// The tool replied, or refused its arguments.
    Finished,
    /// The host ended the call.
    Failed,
    /// The call was cancelled.
    Cancelled,
    /// It cannot be said how the call ended.
    Unknown,
}

impl ListedState {
    /// Returns the states of a store that are shown as this one, or of all of them as `None`; with `success`, only those of calls
    /// that succeeded, or did not.
    pub(super) fn of_store(
        state: Option<Self>,
        success: Option<bool>,
    ) -> Option<BTreeSet<CallState>> {
        if state.is_none() && success.is_none() {
            return None;
        }
        let fits = |one: &CallState| {
            let shown = Self::from(*one);
            state.is_none_or(|state| state == shown)
                && success.is_none_or(|success| succeeded(*one) == Some(success))
        };
        Some(CallState::ALL.into_iter().filter(fits).collect())
    }
}

impl From<CallState> for ListedState {
    fn from(state: CallState) -> Self {
        match state {
            CallState::Running => Self::Running,
            CallState::Finished | CallState::Unsuccessful => Self::Finished,
            CallState::Failed => Self::Failed,
            CallState::Cancelled | CallState::Tombstone => Self::Cancelled,
            CallState::Unknown => Self::Unknown,
        }
    }
}

/// Returns whether a call of this state succeeded; `None` while it runs.
fn succeeded(state: CallState) -> Option<bool> {
    match state {
        CallState::Running => None,
        CallState::Finished => Some(true),
        CallState::Unsuccessful
        | CallState::Failed
        | CallState::Cancelled
        | CallState::Tombstone
        | CallState::Unknown => Some(false),
    }
}

impl From<CallSummary> for ListedCall {
    fn from(call: CallSummary) -> Self {
        let times = Outcome::times(&call.outcome_end);
        Self {
            chat: call.chat.to_string(),
            id: call.call.to_string(),
            tool: call.tool,
            state: call.state.into(),
            success: succeeded(call.state),
            token: Some(call.principal).filter(|name| !name.is_empty()),
            began_at_unix_ms: call.began_ms,
            ended_at_unix_ms: call.ended_ms,
            duration_ms: times.duration_ms,
            queued_ms: times.queued_ms,
            guest_ms: times.guest_ms,
            arguments_bytes: call.arguments_bytes,
            reply_bytes: call.outcome_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_calls() {
        use ListedState::{Cancelled, Finished, Running};
        let states = |state, success| -> Vec<_> {
            let states = ListedState::of_store(state, success);
            states.into_iter().flatten().collect()
        };
        assert_eq!(ListedState::of_store(None, None), None);
        assert_eq!(
            states(Some(Finished), None),
            [CallState::Finished, CallState::Unsuccessful]
        );
        assert_eq!(states(Some(Finished), Some(true)), [CallState::Finished]);
        assert_eq!(
            states(Some(Cancelled), None),
            [CallState::Cancelled, CallState::Tombstone]
        );
        assert_eq!(states(Some(Running), Some(true)), []);
        assert_eq!(states(None, Some(false)).len(), 5);
    }
}
