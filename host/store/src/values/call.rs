//! Values of calls.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use toolhost_state::id::{CallId, ChatId};

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The call runs.
    Running,
    /// The tool replied.
    Finished,
    /// The host ended the call.
    Failed,
    /// The call was cancelled.
    Cancelled,
    /// The host stopped while the call ran, or the store lost the record of its end.
    Unknown,
    /// The call was cancelled before it arrived: the record is a tombstone. Exports call it `fenced`.
    #[serde(rename = "fenced")]
    Tombstone,
    /// The tool replied that it did not succeed, or refused its arguments.
    Unsuccessful,
}

impl CallState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Finished,
        Self::Failed,
        Self::Cancelled,
        Self::Unknown,
        Self::Tombstone,
        Self::Unsuccessful,
    ];

    /// Returns the number that stands for the state in a table.
    pub fn number(self) -> i16 {
        let at = Self::ALL.iter().position(|one| *one == self);
        at.and_then(|at| i16::try_from(at).ok()).unwrap_or_default()
    }

    /// Returns the state for which a number stands; `None` if there is none.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// A call that is about to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCall {
    /// The chat that it belongs to.
    #[serde(serialize_with = "super::id", deserialize_with = "super::parse_id")]
    pub chat: ChatId,
    /// The caller's name of the call, unique within its chat.
    #[serde(
        serialize_with = "super::id",
        deserialize_with = "super::parse_call_id"
    )]
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The name of the token that calls.
    pub principal: String,
    /// The digest of tool and arguments. Two requests with the same id and the same digest are the same request.
    pub digest: [u8; 32],
    /// The arguments as JSON, if the operator allows the host to keep arguments.
    pub arguments: Option<String>,
    /// When it began. A read-only call is stored only at its end.
    pub began_ms: u64,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedCall {
    /// The call. If its beginning was not stored, the call is stored together with its end.
    pub call: NewCall,
    /// How it ended.
    pub state: CallState,
    /// Whether it was cancelled, so that repeats are refused.
    pub cancelled: bool,
    /// The serialized outcome.
    pub outcome: String,
}

impl EndedCall {
    /// Returns the bytes that the outcome counts against the limit of a store: its own, those of the arguments, and 512 for the rest.
    pub fn held(&self) -> u64 {
        held(self.call.arguments.as_deref(), &self.outcome)
    }
}

/// Returns the bytes that an outcome counts against the limit of a store: its own, those of the arguments, and 512 for the rest.
pub(crate) fn held(arguments: Option<&str>, outcome: &str) -> u64 {
    const OVERHEAD: u64 = 512;
    let kept = arguments.map_or(0, str::len) + outcome.len();
    OVERHEAD.saturating_add(kept as u64)
}

/// A stored call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The chat; `None` if only the digest of the id was recovered from a damaged store.
    #[serde(serialize_with = "super::optional_id")]
    pub chat: Option<ChatId>,
    /// The caller's name of the call; `None` as for `chat`.
    #[serde(serialize_with = "super::optional_id")]
    pub call: Option<CallId>,
    /// The number of the call in the order of all calls.
    pub number: i64,
    /// The tool; empty for a tombstone.
    pub tool: String,
    /// The name of the token that called.
    pub principal: String,
    /// The state.
    pub state: CallState,
    /// Whether it was cancelled, so that repeats are refused.
    pub cancelled: bool,
    /// The tools whose calls the tombstone stops; `None`: all.
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
    /// The digest of the tool and the arguments with which it began.
    #[serde(skip)]
    pub digest: [u8; 32],
    /// Whether it runs at another host of this store.
    #[serde(skip)]
    pub is_elsewhere: bool,
}

impl Call {
    /// Answers the repeat of this call, which has begun, with this digest.
    pub fn answer(self, digest: &[u8; 32]) -> Begun {
        match self.state {
            // Of a call that was lost, the digest is lost as well.
            CallState::Unknown if self.tool.is_empty() => Begun::Unknown,
            _ if self.digest != *digest => Begun::Mismatch,
            CallState::Running => Begun::Running,
            _ if self.cancelled => Begun::Cancelled,
            _ if self.outcome.is_some() => Begun::Ended(Box::new(self)),
            CallState::Unknown => Begun::Unknown,
            _ => Begun::Gone,
        }
    }
}

/// A call that another call has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedCall {
    /// Its number among the calls that the other one has made.
    pub number: u32,
    /// What its record says.
    pub record: NestedRecord,
}

/// What the record of a nested call says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedRecord {
    /// The call began, with this digest of the tool and the arguments.
    Begun([u8; 32]),
    /// The call was cancelled before it arrived.
    Tombstone,
    /// The record is damaged.
    Damaged,
}

/// The answer to the beginning of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The id was not seen before, and the call is now stored as running.
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
    /// The store cannot tell whether the call ran.
    Unknown,
}

/// The answer to the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The end is stored.
    Stored,
    /// Nothing was stored: another host has taken the call over, because this one had lost its lease. This is the call as it is stored.
    TakenOver(Box<Call>),
}

/// A cancellation.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// The chat of the call.
    pub chat: ChatId,
    /// The call.
    pub call: CallId,
    /// The name of the token that cancels.
    pub principal: String,
    /// The tools that the token may use; `None`: all. A stored call of any other tool is not cancelled.
    pub tools: Option<BTreeSet<String>>,
    /// The most tombstones of one chat.
    pub most: u64,
}

/// The answer to a cancellation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// The call runs, or has ended: repeats are refused from now on.
    Known(Box<Call>),
    /// The call has not arrived. A tombstone is stored: when the call arrives, it does not run if its tool is one of these; `None`: all.
    Tombstone(Option<BTreeSet<String>>),
    /// The id belongs to a call of a tool that the token may not use.
    Foreign,
    /// The chat has too many tombstones; nothing was stored.
    TooMany,
}

/// A call in a list, without its arguments and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSummary {
    /// The chat.
    pub chat: ChatId,
    /// The caller's name of the call.
    pub call: CallId,
    /// The number of the call in the order of all calls.
    pub number: i64,
    /// The tool.
    pub tool: String,
    /// The name of the token that called.
    pub principal: String,
    /// The state.
    pub state: CallState,
    /// When it began.
    pub began_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// The bytes of the arguments, if they are kept.
    pub arguments_bytes: Option<u64>,
    /// The bytes of the serialized outcome; `None` while the call runs.
    pub outcome_bytes: Option<u64>,
    /// The last 80 bytes of the serialized outcome, in which its times stand; empty while the call runs.
    pub outcome_end: Vec<u8>,
}

/// A page of a list of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallPage {
    /// The calls, newest first. A page looks at a bounded number of calls, so it may have fewer than the limit, even none, although
    /// more follow.
    pub calls: Vec<CallSummary>,
    /// The [`CallQuery::before`] of the next page; `None` if nothing is left.
    pub next: Option<i64>,
}

/// How many calls a page looks at. A page of one chat without filters has no such bound, because each call that it looks at is a result.
pub const CALLS_OF_PAGE: i64 = 4_096;

/// How many bytes of arguments and outcomes a page searches for a text.
pub const BYTES_OF_PAGE: i64 = 16 << 20;

/// A query for calls that run or whose outcome is kept.
#[derive(Clone, Debug, Default)]
pub struct CallQuery {
    /// The chat; `None`: all chats with this prefix.
    pub chat: Option<ChatId>,
    /// The prefix of the names of chats; empty: all chats.
    pub prefix: String,
    /// Calls with this id.
    pub call: Option<CallId>,
    /// Calls in one of these states; `None`: all.
    pub states: Option<BTreeSet<CallState>>,
    /// Calls of this tool.
    pub tool: Option<String>,
    /// Calls of the tools that the caller may use; `None`: all.
    pub visible: Option<BTreeSet<String>>,
    /// Calls that began at or after this time.
    pub since_ms: Option<u64>,
    /// Calls that began before this time.
    pub until_ms: Option<u64>,
    /// Calls with this text in the JSON of their arguments or of their outcome.
    pub text: Option<String>,
    /// Calls with a smaller [`CallSummary::number`].
    pub before: Option<i64>,
    /// The most calls to return.
    pub limit: u32,
}

impl CallQuery {
    /// Returns the query for the newest calls of a chat.
    pub fn of_chat(chat: ChatId, limit: u32) -> Self {
        Self {
            chat: Some(chat),
            limit,
            ..Self::default()
        }
    }

    /// Returns whether the query may leave out calls that are in its chats.
    pub fn is_filtered(&self) -> bool {
        self.states.is_some()
            || self.tool.is_some()
            || self.visible.is_some()
            || self.since_ms.is_some()
            || self.until_ms.is_some()
    }

    /// Returns the texts of which one must be in the arguments or the outcome: the text of the query, and the same within a JSON string.
    pub fn texts(&self) -> Option<[String; 2]> {
        let text = self.text.as_ref()?;
        let json = serde_json::Value::from(text.as_str()).to_string();
        let inner = json
            .strip_prefix('"')
            .and_then(|json| json.strip_suffix('"'));
        Some([text.clone(), inner.unwrap_or_default().to_owned()])
    }
}
