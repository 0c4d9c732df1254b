//! Values of processes.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toolhost_state::id::ChatId;

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// Its shell runs.
    Running,
    /// Its shell has exited, and something that it started runs.
    Lingering,
    /// Nothing of it is left.
    Ended,
    /// The host lost it.
    Lost,
}

impl ProcessState {
    /// Returns whether something of the process runs.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Lingering)
    }
}

/// The file that holds the saved output of a process. It has its name before it exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// The directory of its chat, in the directory of outputs.
    pub directory: String,
    /// The name in that directory.
    pub file: String,
}

/// A process as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id, unique in the store.
    pub id: String,
    /// The chat in whose scope it is.
    #[serde(serialize_with = "super::optional_id", deserialize_with = "chat")]
    pub chat: Option<ChatId>,
    /// The key of its start, by which a repeated start finds it.
    pub key: Option<String>,
    /// Where it stands.
    pub state: ProcessState,
    /// The command, cut by the caller.
    pub command: String,
    /// The directory in which it was started.
    pub workdir: String,
    /// Whether it was started as a background process.
    pub background: bool,
    /// When it was started.
    pub started_ms: u64,
    /// Where its output is saved; `None` if it is not, or not any more.
    pub output: Option<OutputFile>,
    /// How its shell and its output ended, as JSON that only the workspace reads; `None` while its shell runs.
    pub end: Option<serde_json::Value>,
}

/// A list of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    /// The processes, in the order in which they were started.
    pub found: Vec<Process>,
    /// How many processes are missing from the list because they cannot be read.
    pub damaged: u64,
}

/// Which processes to list, in the order in which they were started.
#[derive(Clone, Debug, Default)]
pub struct ProcessQuery {
    /// Of this chat.
    pub chat: Option<ChatId>,
    /// Of chats whose names begin so; empty: all, and processes without a chat.
    pub prefix: String,
    /// The processes whose start had this key.
    pub key: Option<String>,
    /// Those that are live.
    pub live: bool,
    /// Processes behind the one with this id.
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
