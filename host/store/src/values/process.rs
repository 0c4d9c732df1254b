//! Values of processes.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toolhost_state::id::ChatId;

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It runs, or something that it started does.
    Running,
    /// Nothing of it is left.
    Ended,
    /// The host lost it.
    Lost,
}

/// The files that hold the saved output of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLocation {
    /// The directory of its chat.
    pub directory: String,
    /// The file.
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
    /// Where its output is saved; `None` if it is not.
    pub output: Option<OutputLocation>,
    /// How it ended, as JSON that only the workspace reads.
    pub end: Option<String>,
}

/// Which processes to list, in the order in which they were started.
#[derive(Clone, Debug, Default)]
pub struct ProcessQuery {
    /// Of this chat.
    pub chat: Option<ChatId>,
    /// Of chats whose names begin so; empty: all, and processes without a chat.
    pub prefix: String,
    /// The process whose start had this key.
    pub key: Option<String>,
    /// Those that run.
    pub running: bool,
    /// Processes behind the one with this id.
    pub after: Option<String>,
    /// The most processes to return.
    pub limit: u32,
}

fn chat<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ChatId>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom))
        .transpose()
}
