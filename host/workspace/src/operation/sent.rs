//! An operation on its way to an agent, and the answer on its way back.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::process::{Snapshot, Waited};

/// An operation, and the means that its caller grants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked<O> {
    /// The operation.
    pub operation: O,
    /// The directories whose files may be reached; `None`: all of the workspace. See
    /// [`Workspace::restricted`](crate::Workspace::restricted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<PathBuf>>,
    /// The most CPU time that an operation on files may use; `None`: any amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Duration>,
    /// How long the answer to a start waits for the end of the command. A command that ends sooner needs no other request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_end: Option<Duration>,
}

impl<O> From<O> for Asked<O> {
    fn from(operation: O) -> Self {
        Self {
            operation,
            roots: None,
            cpu: None,
            for_end: None,
        }
    }
}

impl<O: Into<Operation>> Asked<O> {
    /// Returns the same with an operation of any type.
    pub fn into_any(self) -> Asked<Operation> {
        Asked {
            operation: self.operation.into(),
            roots: self.roots,
            cpu: self.cpu,
            for_end: self.for_end,
        }
    }
}

/// An answer, and what the agent says besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered<A> {
    /// The answer.
    pub answer: A,
    /// The CPU time that the operation used for files.
    pub cpu: Duration,
    /// The end of the process that was started or waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

impl<A> Answered<A> {
    /// Returns the same with another answer.
    pub(super) fn map<B>(self, to: impl FnOnce(A) -> B) -> Answered<B> {
        Answered {
            answer: to(self.answer),
            cpu: self.cpu,
            ended: self.ended,
        }
    }
}

/// A process of which nothing is left, with the output that is kept in memory. It does not change any more, so that the next request of
/// a caller that waited for it is spared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// The result of a wait for its end.
    pub waited: Waited,
    /// The state and the output at its end.
    pub snapshot: Snapshot,
}

/// The longest output that an [`Ended`] has, in bytes. That of other processes is asked for.
pub const MAX_ENDED: usize = 8 << 10;
