//! One process as a list shows it, and what outlives its shell.

use std::path::PathBuf;
use std::time::SystemTime;

use super::State;

/// One process in a list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Info {
    /// Its id.
    pub id: String,
    /// The command as it was started, cut at 2 KiB.
    pub command: String,
    /// The absolute directory in which it was started.
    pub workdir: PathBuf,
    /// Whether it was started as a background process.
    pub background: bool,
    /// What named its start, as [`Command::key`](super::Command::key) says; `None` if nothing did.
    pub key: Option<String>,
    /// Where it stands.
    pub state: State,
    /// When it was started.
    pub started: SystemTime,
    /// When the shell exited.
    pub exited: Option<SystemTime>,
    /// When it last wrote.
    pub last_output: Option<SystemTime>,
    /// How many bytes were written so far.
    pub total: u64,
}

/// A process that outlives the shell that started it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// Its command line, with control characters replaced, cut at 256 bytes.
    pub command: String,
}
