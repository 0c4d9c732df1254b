//! The entries of the journal of processes, and the knowledge about one id when they are put together.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::text;
use crate::process::ExitStatus;
use crate::process::saved::Location;
use toolhost_state::id::ChatId;

/// One fact about a process or about a chat. It is written as one line of JSON of at most 64 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A process was started. This is the first entry of its id: other entries of an id that was not started are ignored.
    Started(Started),
    /// The shell of the process has exited, and something that it started still runs.
    Exited(Exited),
    /// Nothing of the process is left.
    Ended(Ended),
    /// The host lost the process.
    Lost(Lost),
    /// The saved output of the process was removed; how it ended is still known.
    Gone {
        /// The process.
        id: String,
    },
    /// Nothing is known of the process any more.
    Forgotten {
        /// The process.
        id: String,
    },
    /// Nothing is known of any process of the chat that was started before.
    ChatEnded {
        /// The chat.
        #[serde(with = "text::chat")]
        chat: ChatId,
    },
}

/// The facts about a process that are known from its start on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    /// Its id, unique in the state directory.
    pub(crate) id: String,
    /// The chat in whose scope it is.
    #[serde(with = "text::optional_chat")]
    pub(crate) chat: Option<ChatId>,
    /// The command. The caller cuts it, at 2 KiB.
    pub(crate) command: String,
    /// The absolute directory in which it was started. If the name is not UTF-8, only the part that reads as text is kept.
    #[serde(with = "text::path")]
    pub(crate) workdir: PathBuf,
    /// Whether it was started as a background process.
    pub(crate) background: bool,
    /// When it was started, in whole milliseconds.
    #[serde(with = "text::time")]
    pub(crate) started: SystemTime,
    /// Where its output is saved; `None` if it is not.
    pub(crate) output: Option<Location>,
    /// The key of its start; `None` if it had none, or if an older host wrote the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// How the shell of a process ended while other processes of it still run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exited {
    /// The process.
    pub(crate) id: String,
    /// How its shell ended.
    #[serde(with = "text::Status")]
    pub(crate) status: ExitStatus,
    /// When that was, in whole milliseconds.
    #[serde(with = "text::time")]
    pub(crate) exited: SystemTime,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The process.
    pub(crate) id: String,
    /// How its shell ended.
    #[serde(with = "text::Status")]
    pub(crate) status: ExitStatus,
    /// When its shell exited, in whole milliseconds.
    #[serde(with = "text::time")]
    pub(crate) exited: SystemTime,
    /// When nothing of it was left, in whole milliseconds. Entries from before this field existed say the epoch.
    #[serde(with = "text::time", default = "text::epoch")]
    pub(crate) over: SystemTime,
    /// How many bytes it wrote.
    pub(crate) total: u64,
    /// How many of those bytes were saved.
    pub(crate) saved_bytes: u64,
    /// How the saving went; `None` if the host did not see its end.
    pub(crate) saving: Option<Saving>,
}

/// Records that the host does not know how a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lost {
    /// The process.
    pub(crate) id: String,
    /// The reason, as a text for callers.
    pub(crate) why: String,
    /// When the host found that out, in whole milliseconds.
    #[serde(with = "text::time")]
    pub(crate) when: SystemTime,
    /// How many bytes it wrote, as far as is known.
    pub(crate) total: u64,
    /// How many of those bytes were saved.
    #[serde(default)]
    pub(crate) saved_bytes: u64,
    /// How the saving went; `None` if the host did not see its end.
    #[serde(default)]
    pub(crate) saving: Option<Saving>,
}

/// How the saving of an output went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Saving {
    /// Everything was saved.
    Complete,
    /// A cap was reached: the bytes after the saved ones are missing.
    Partial,
    /// Saving failed; the text says why. The bytes that were saved before are there.
    Failed(String),
}

/// Everything that the journal knows of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The facts from its start.
    pub(crate) started: Started,
    /// How its shell ended, if an entry of its own says so.
    pub(crate) exited: Option<Exited>,
    /// How it ended; `None` if the host stopped before it knew. The process is then lost unless its shell had exited.
    pub(crate) end: Option<End>,
    /// Whether its saved output was removed.
    pub(crate) gone: bool,
}

/// How a process is over. The id in it is that of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The process ended as the entry says.
    Exited(Ended),
    /// It is unknown how the process ended.
    Lost(Lost),
}
