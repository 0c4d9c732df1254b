//! What the journal of processes can say: its entries, and what is known of one id when they are put together.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::text;
use crate::process::ExitStatus;
use crate::process::saved::Location;
use toolhost_state::id::ChatId;

/// One fact about a process or about a chat. What is written is one line of JSON of at most 64 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A process was started. The first entry of its id: what else is said of an id that was not started is ignored.
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

/// What is known of a process from its start on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    /// Its id, unique in the state directory.
    pub(crate) id: String,
    /// The chat in whose scope it is.
    #[serde(with = "text::optional_chat")]
    pub(crate) chat: Option<ChatId>,
    /// The command. The caller cuts it, at 2 KiB.
    pub(crate) command: String,
    /// The absolute directory in which it was started. Of a name that is no UTF-8, what reads as text is kept.
    #[serde(with = "text::path")]
    pub(crate) workdir: PathBuf,
    /// Whether it was started as a background process.
    pub(crate) background: bool,
    /// When it was started, in whole milliseconds.
    #[serde(with = "text::time")]
    pub(crate) started: SystemTime,
    /// Where its output is saved; `None` if it is not.
    pub(crate) output: Option<Location>,
    /// What named its start; `None` if nothing did, or if an older host wrote this down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// How the shell of a process ended that is not over.
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
    /// When nothing of it was left, in whole milliseconds. What was written down before there was this says the epoch.
    #[serde(with = "text::time", default = "text::epoch")]
    pub(crate) over: SystemTime,
    /// How many bytes it wrote.
    pub(crate) total: u64,
    /// How many of those bytes were saved.
    pub(crate) saved_bytes: u64,
    /// How the saving went; `None` if nobody saw its end.
    pub(crate) saving: Option<Saving>,
}

/// That the host does not know how a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lost {
    /// The process.
    pub(crate) id: String,
    /// What is known, for whoever asks.
    pub(crate) why: String,
    /// When that was found out, in whole milliseconds.
    #[serde(with = "text::time")]
    pub(crate) when: SystemTime,
    /// How many bytes it wrote, as far as is known.
    pub(crate) total: u64,
    /// How many of those bytes were saved.
    #[serde(default)]
    pub(crate) saved_bytes: u64,
    /// How the saving went; `None` if nobody saw its end.
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
    /// It failed; the text says why. The bytes that were saved before are there.
    Failed(String),
}

/// Everything that the journal knows of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// What was known when it started.
    pub(crate) started: Started,
    /// How its shell ended, if that is known apart from the end.
    pub(crate) exited: Option<Exited>,
    /// How it ended; `None` if the host stopped before it knew, which makes the process lost unless its shell had exited.
    pub(crate) end: Option<End>,
    /// Whether its saved output was removed.
    pub(crate) gone: bool,
}

/// How a process is over. The id in it is the one of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended, and this is how.
    Exited(Ended),
    /// It is not known how it ended.
    Lost(Lost),
}
