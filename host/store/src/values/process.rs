//! Values of processes.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toolhost_state::id::ChatId;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// The shell runs.
    Running,
    /// The shell has exited, and a process that it started still runs.
    Lingering,
    /// The shell and everything that it started have ended.
    Ended,
    /// The host lost track of the process.
    Lost,
}

impl ProcessState {
    /// Returns whether the shell or a process that it started runs.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Lingering)
    }
}

/// The file for the saved output of a process. The name is chosen before the file exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// The directory of the chat, within the directory of outputs.
    pub directory: String,
    /// The name in that directory.
    pub file: String,
}

/// A stored process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id, unique in the store.
    pub id: String,
    /// The chat whose scope it belongs to.
    #[serde(serialize_with = "super::optional_id", deserialize_with = "chat")]
    pub chat: Option<ChatId>,
    /// The key of its start. A repeated start with the same key finds the process.
    pub key: Option<String>,
    /// The state.
    pub state: ProcessState,
    /// The command. The caller has cut it to a bounded length.
    pub command: String,
    /// The directory in which it was started.
    pub workdir: String,
    /// Whether it was started as a background process.
    pub background: bool,
    /// When it was started.
    pub started_ms: u64,
    /// Where its output is saved; `None` if no output is saved, or the saved output was deleted.
    pub output: Option<OutputFile>,
    /// How the shell and the output ended, as JSON that only the workspace reads; `None` while the shell runs.
    pub end: Option<serde_json::Value>,
}

/// A list of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    /// The processes, in the order in which they were started.
    pub found: Vec<Process>,
    /// How many processes are missing from the list because their records are damaged.
    pub damaged: u64,
}

/// A query for processes, in the order in which they were started.
#[derive(Clone, Debug, Default)]
pub struct ProcessQuery {
    /// The chat; `None`: all chats with this prefix.
    pub chat: Option<ChatId>,
    /// The prefix of the names of chats; empty: all processes, also those without a chat.
    pub prefix: String,
    /// The processes whose start had this key.
    pub key: Option<String>,
    /// Only live processes.
    pub live: bool,
    /// Processes after the one with this id.
    pub after: Option<String>,
    /// The most processes to return.
    pub limit: u32,
}

impl ProcessQuery {
    /// Returns the query for all processes.
    pub fn all() -> Self {
        Self {
            limit: u32::MAX,
            ..Self::default()
        }
    }
}

fn chat<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ChatId>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom))
        .transpose()
}
