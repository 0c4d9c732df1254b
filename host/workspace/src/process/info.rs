//! The result of a start, the entry of a process in a list, and the processes that outlive a shell.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::State;

/// The result of a start.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Started {
    /// Its id.
    pub id: String,
    /// Whether this start started it; `false` if an earlier one with the same key did.
    pub is_new: bool,
}

/// One process in a list.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Info {
    /// Its id.
    pub id: String,
    /// The command as it was started, cut at 2 KiB.
    pub command: String,
    /// The absolute directory in which it was started.
    pub workdir: PathBuf,
    /// Whether it was started as a background process.
    pub background: bool,
    /// The key of its start: see [`Command::key`](super::Command::key). `None` if the start had no key.
    pub key: Option<String>,
    /// Its state.
    pub state: State,
    /// When it was started.
    pub started: SystemTime,
    /// When the shell exited.
    pub exited: Option<SystemTime>,
    /// How long the shell ran, or has run so far.
    pub ran: Duration,
    /// The rest of the time that its caller means to wait for it; see [`Command::timeout`](super::Command::timeout). `None` if
    /// the caller gave no timeout.
    pub time_left: Option<Duration>,
    /// Whether its output was dropped, so that only its state is known.
    pub expired: bool,
    /// When it last wrote output; `None` if it has written nothing.
    pub last_output: Option<SystemTime>,
    /// How many bytes of output it has written so far.
    pub total: u64,
}

impl Info {
    /// Returns whether the shell runs for longer than its caller meant to wait for it.
    pub fn is_overdue(&self) -> bool {
        self.state == State::Running && self.time_left.is_some_and(|left| left.is_zero())
    }
}

/// A process that outlives the shell that started it.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Survivor {
    /// Its process id, as commands of the chat see it.
    pub pid: u32,
    /// Its command line, with control characters replaced, cut at 256 bytes.
    pub command: String,
}
