//! Notices: a chat is told that something happened to a process, without a call that waits for it.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::process::{Error, State, WaitOptions};

/// The most notices that a chat can wait for at a time, with those that are being delivered.
pub const MAX_WAITING: usize = 64;

/// The event of a process that a chat wants to be told of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum Trigger {
    /// Its shell has exited, and its output was drained.
    Exit,
    /// Its output matches an expression. The end of its shell is told as well, because then nothing matches any more.
    Output {
        /// A regular expression, as [`WaitOptions::until`](toolhost_workspace::process::WaitOptions::until) has it.
        pattern: String,
        /// The cursor from which the output is searched.
        since: u64,
    },
}

/// A notice that a chat asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The chat.
    pub chat: ChatId,
    /// The id of the process, which belongs to that chat.
    pub process: String,
    /// The event.
    pub trigger: Trigger,
    /// The name of the principal that asks. It decides whether and where the notice is delivered.
    pub principal: String,
    /// The call that asks. A call that asks again for the same gets the same notice.
    pub by: Option<CallId>,
}

/// A notice, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its id, unique at its host.
    pub id: String,
    /// The chat.
    pub chat: ChatId,
    /// The id of the process.
    pub process: String,
    /// The call that started the process, if one did.
    pub started_by: Option<String>,
    /// The command of the process, cut at 512 bytes.
    pub command: String,
    /// The event that the chat waits for.
    pub trigger: Trigger,
    /// The name of the principal that asked.
    pub principal: String,
    /// When it was asked for, in milliseconds since the Unix epoch.
    pub asked_ms: u64,
    /// The event; `None` while the chat waits.
    pub told: Option<Told>,
    /// Where the delivery stands.
    pub delivery: Delivery,
}

/// Something that happened to a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Its place among all that this host has told.
    pub number: u64,
    /// When the host saw it, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The state of the process then.
    pub state: State,
    /// How many bytes it had written.
    pub total: u64,
    /// The cursor just past the match; `None` if the process ended.
    pub match_end: Option<u64>,
}

/// Where the delivery of a notice to a chat server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Delivery {
    /// Nothing is delivered: the principal has no courier, or nothing has happened.
    None,
    /// It is being delivered.
    Due,
    /// The receiver has it.
    Done,
    /// The receiver does not want it, or has not taken it for days.
    GivenUp,
}

impl Told {
    /// Returns the event in one word: `matched`, `exited`, or `lost` if it is unknown how the process ended.
    pub fn event(&self) -> &'static str {
        match (&self.state, self.match_end) {
            (_, Some(_)) => "matched",
            (State::Lost(_), None) => "lost",
            (_, None) => "exited",
        }
    }
}

impl Trigger {
    /// Returns the wait that ends with the event, at the latest after this time.
    pub fn wait(&self, timeout: Duration) -> WaitOptions {
        let (since, until) = match self {
            Self::Exit => (0, None),
            Self::Output { pattern, since } => (*since, Some(pattern.clone())),
        };
        WaitOptions {
            timeout,
            since,
            until,
            output: false,
        }
    }
}

impl Notice {
    /// Returns the call that started the process, if one did.
    pub fn starter(&self) -> Option<CallId> {
        let call = self.started_by.as_deref()?;
        CallId::recorded(call).ok()
    }
}

/// The notices of a host.
pub trait Notices: fmt::Debug + Send + Sync {
    /// Asks for a notice, and returns its id. If the event has happened already, the notice comes at once.
    ///
    /// # Errors
    ///
    /// If the chat has no such process, the expression is not valid, the chat waits for [`MAX_WAITING`] notices, or the workspace or the store
    /// cannot be reached.
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<String, Error>>;
}

/// Takes notices to chat servers.
pub trait Courier: fmt::Debug + Send + Sync {
    /// Returns whether the notices of a principal are delivered.
    fn serves(&self, principal: &str) -> bool;

    /// Delivers a notice about which something was told. A receiver may get it more than once.
    fn deliver<'a>(&'a self, notice: &'a Notice) -> BoxFuture<'a, Result<(), Undelivered>>;
}

/// Why a notice was not delivered. The text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undelivered {
    /// It can be tried again, at the earliest after this time if the receiver named one.
    #[error("{reason}")]
    ForNow {
        /// The reason.
        reason: String,
        /// The time that the receiver named.
        after: Option<Duration>,
    },
    /// The receiver does not want it.
    #[error("{0}")]
    ForGood(String),
}
