//! The events of chats that hosts tell each other.

use serde::{Deserialize, Serialize};
use toolhost_state::id::CallId;

use super::{id, parse_call_id};
use crate::CallState;

/// An event of a chat, as a host tells it to others at which clients read the events of the chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatEvent {
    /// A call began, or ended.
    Call {
        /// The call.
        #[serde(serialize_with = "id", deserialize_with = "parse_call_id")]
        call: CallId,
        /// The tool that was called.
        tool: String,
        /// The state of the call.
        state: CallState,
    },
    /// A call reports its progress.
    Progress {
        /// The call.
        #[serde(serialize_with = "id", deserialize_with = "parse_call_id")]
        call: CallId,
        /// How much is done.
        done: f64,
        /// How much there is to do, if that is known.
        total: Option<f64>,
        /// A text for people, at most 1 KiB.
        message: Option<String>,
    },
    /// The chat was ended, with all that ran in it.
    Ended,
}
