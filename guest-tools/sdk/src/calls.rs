//! Calls of other tools, in the chat and with the rights of the running call.
//!
//! Write the logic of a tool against `&dyn` [`Calls`]: give it [`Host`] when it runs, and a
//! [`FakeCalls`](crate::testing::FakeCalls) in tests. A plugin that never names [`Host`] does not import `calls`, and needs no grant for
//! it.

mod host;

use std::fmt;
use std::time::Duration;

pub use crate::bindings::calls::toolhost::plugin::calls::{
    Blob, Content, Document, Reply, Tool, Waited,
};
pub use host::{Host, Started};

/// The tools that the running call can call.
pub trait Calls: fmt::Debug {
    /// A call that was started. Dropping it cancels nothing.
    type Call: fmt::Debug;

    /// Returns the tools that can be called, sorted by name.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] if no tool can be called here.
    fn tools(&self) -> Result<Vec<Tool>, Error>;

    /// Returns at most `max` tools that have words of the query in their name, title, description or arguments, the best match first.
    /// A query without words matches every tool.
    ///
    /// # Errors
    ///
    /// As [`Calls::tools`].
    fn search(&self, query: &str, max: u32) -> Result<Vec<Tool>, Error>;

    /// Starts a call of a tool. `arguments` is the text of one JSON object. At most 8 calls run at once, and others wait for their turn.
    ///
    /// # Errors
    ///
    /// The [`Error`] says why nothing was started.
    fn start(&self, tool: &str, arguments: &str) -> Result<Self::Call, Error>;

    /// Returns the absolute path of a directory of the workspace for files of the running call, which the first use makes. The host removes
    /// it at the end of the call, or, if a file of it was shared, when the link can no longer be valid.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] if the call may call no tool that makes changes.
    fn scratch(&self) -> Result<String, Error>;

    /// Waits until one of these calls has ended. If several have, returns the first of the list.
    ///
    /// # Errors
    ///
    /// As [`Calls::tools`].
    fn wait_any(&self, calls: &[&Self::Call], timeout: Duration) -> Result<Waited, Error>;

    /// Returns the reply of a call, or why there is none; `None` while the call waits or runs.
    fn reply(&self, call: &Self::Call) -> Option<Result<Reply, Error>>;

    /// Returns the id of a call.
    fn id(&self, call: &Self::Call) -> String;

    /// Cancels a call. It has ended only when [`Calls::reply`] says so.
    fn cancel(&self, call: &Self::Call);
}

/// Why there is no reply. The texts are for the model to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The operator, the caller's rights or the approval hook do not allow it. Nothing ran.
    Denied(String),
    /// There is no such tool for this call. Nothing ran.
    UnknownTool(String),
    /// The tool does not accept the arguments.
    InvalidArguments(String),
    /// A limit was reached: of the running call, or of the one that it made.
    Limit(String),
    /// There was no place for the call. Nothing ran.
    Busy(String),
    /// Something that the tool needs cannot be reached now.
    Unavailable(String),
    /// The call was cancelled.
    Cancelled(String),
    /// The plugin of the tool broke.
    Broken(String),
    /// It is not known whether the call had its effects. It does not run again.
    UnknownOutcome(String),
    /// The call ran in an earlier run of this one, and its reply is no longer kept.
    Gone(String),
    /// It failed in another way.
    Failed(String),
}

impl Error {
    /// Returns the kind of the error in snake case, such as `unknown_tool`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::UnknownTool(_) => "unknown_tool",
            Self::InvalidArguments(_) => "invalid_arguments",
            Self::Limit(_) => "limit",
            Self::Busy(_) => "busy",
            Self::Unavailable(_) => "unavailable",
            Self::Cancelled(_) => "cancelled",
            Self::Broken(_) => "broken",
            Self::UnknownOutcome(_) => "unknown_outcome",
            Self::Gone(_) => "gone",
            Self::Failed(_) => "failed",
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        match self {
            Self::Denied(text)
            | Self::UnknownTool(text)
            | Self::InvalidArguments(text)
            | Self::Limit(text)
            | Self::Busy(text)
            | Self::Unavailable(text)
            | Self::Cancelled(text)
            | Self::Broken(text)
            | Self::UnknownOutcome(text)
            | Self::Gone(text)
            | Self::Failed(text) => text,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Error {}
