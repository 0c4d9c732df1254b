//! Values of calls.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use toolhost_state::id::{CallId, ChatId};

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The call runs.
    Running,
    /// The tool replied, or refused its arguments.
    Finished,
    /// The host ended the call.
    Failed,
    /// The call was cancelled.
    Cancelled,
    /// The host stopped while the call ran, or the store lost the end of the call.
    Unknown,
    /// The call was cancelled before it arrived.
    Fenced,
}

impl CallState {
    pub(crate) const ALL: [Self; 6] = [
        Self::Running,
        Self::Finished,
        Self::Failed,
        Self::Cancelled,
        Self::Unknown,
        Self::Fenced,
    ];
}

/// A call that is about to run.
#[derive(Clone, Debug)]
pub struct NewCall {
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// The caller's name of the call, unique within its chat.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The name of the token that calls.
    pub principal: String,
    /// The digest of tool and arguments, by which two requests of one id are the same request.
    pub digest: [u8; 32],
    /// The arguments as JSON, if the operator allows that they are kept.
    pub arguments: Option<String>,
}

/// The end of a call.
#[derive(Clone, Debug)]
pub struct EndedCall {
    /// The call. It is stored with its end if its beginning was not.
    pub call: NewCall,
    /// How it ended.
    pub state: CallState,
    /// Whether it was cancelled, so that repeats are refused.
    pub cancelled: bool,
    /// The serialized outcome.
    pub outcome: String,
}

/// A call as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The chat; `None` if only the digest of the id was rescued from a damaged store.
    #[serde(serialize_with = "super::optional_id")]
    pub chat: Option<ChatId>,
    /// The caller's name of the call; `None` as for `chat`.
    #[serde(serialize_with = "super::optional_id")]
    pub call: Option<CallId>,
    /// The place of the call in the order of all calls, by which pages go on.
    pub number: i64,
    /// The tool; empty for a fence.
    pub tool: String,
    /// The name of the token that called.
    pub principal: String,
    /// Where it stands.
    pub state: CallState,
    /// Whether it was cancelled, so that repeats are refused.
    pub cancelled: bool,
    /// The tools whose calls the fence stops; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// When it began.
    pub began_ms: u64,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// The arguments, if they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The serialized outcome, while it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(skip)]
    pub(crate) digest: [u8; 32],
}

impl Call {
    /// Returns the digest of tool and arguments that the call began with.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

/// The answer to the beginning of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The id had not been seen, and the call is stored as running.
    New,
    /// The call runs.
    Running,
    /// The call has ended, and its outcome is kept.
    Ended(Box<Call>),
    /// The call has ended, and its outcome is no longer kept.
    Gone,
    /// The id was used for another tool or other arguments.
    Mismatch,
    /// The call was cancelled: before it arrived, while it ran, or after its end.
    Cancelled,
    /// It cannot be said whether the call ran.
    Unknown,
}

/// A cancellation.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The chat of the call.
    pub chat: ChatId,
    /// The call.
    pub call: CallId,
    /// The name of the token that cancels.
    pub principal: String,
    /// The tools that the token may use; `None`: all. A call that was stored with another tool stays as it is.
    pub tools: Option<BTreeSet<String>>,
    /// How many calls of one chat may be cancelled before they arrive.
    pub most: u64,
}

/// The answer to a cancellation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// The call runs, or has ended: repeats are refused from now on.
    Known(Box<Call>),
    /// The call has not arrived, and calls of these tools do not run when they do; `None`: all.
    Fenced(Option<BTreeSet<String>>),
    /// The id is that of a call of a tool that the token may not use.
    Foreign,
    /// The chat has too many fences; nothing was stored.
    TooMany,
}

/// Which calls of a chat to list.
#[derive(Clone, Debug)]
pub struct CallQuery {
    /// The chat; `None`: all chats of this prefix.
    pub chat: Option<ChatId>,
    /// How the names of chats begin; empty: all.
    pub prefix: String,
    /// Calls in one of these states; empty: all.
    pub states: Vec<CallState>,
    /// Calls of this tool.
    pub tool: Option<String>,
    /// Calls that began at or after this time.
    pub since_ms: Option<u64>,
    /// Calls with this text in their arguments or outcome.
    pub text: Option<String>,
    /// Calls with a smaller [`Call::number`].
    pub before: Option<i64>,
    /// The most calls to return.
    pub limit: u32,
}

impl CallQuery {
    /// Returns the query for the newest calls of a chat.
    pub fn of_chat(chat: ChatId, limit: u32) -> Self {
        Self {
            chat: Some(chat),
            prefix: String::new(),
            states: Vec::new(),
            tool: None,
            since_ms: None,
            text: None,
            before: None,
            limit,
        }
    }
}
