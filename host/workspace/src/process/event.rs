//! Events of processes, which a workspace sends to its subscribers.

use std::path::Path;

use toolhost_state::id::ChatId;

use super::State;

/// The process that an event is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its id.
    pub id: &'a str,
    /// The chat that it belongs to; `None` if it was started for no chat.
    pub chat: Option<&'a ChatId>,
    /// The key of its start: see [`Command::key`](super::Command::key). `None` if the start had no key.
    pub key: Option<&'a str>,
}

/// An event of a process.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent<'a> {
    /// It was started. This is the first event of every process.
    Started {
        /// The command as it was started, cut at 2 KiB.
        command: &'a str,
        /// The absolute directory in which it was started.
        workdir: &'a Path,
        /// Whether it was started as a background process.
        background: bool,
    },
    /// It wrote output, which can be read now.
    Output {
        /// The cursor of the first byte.
        offset: u64,
        /// How many bytes it wrote.
        length: u64,
    },
    /// Its state changed. A state in which nothing of the process is left is the last event.
    Changed {
        /// The state from now on.
        state: &'a State,
        /// How many bytes it has written so far.
        total: u64,
    },
}

/// Denials of the sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Denials<'a> {
    /// The chat of the command; `None` if the command was started for no chat.
    pub chat: Option<&'a ChatId>,
    /// The id of the process; `None` if several processes of the chat may be meant.
    pub process: Option<&'a str>,
    /// A sentence for each denial, which names the path or the host, and the rule.
    pub texts: &'a [String],
    /// Whether the sandbox reported the denials. Otherwise, the output of the process suggests them.
    pub certain: bool,
}

/// A reader of the events of all processes of a workspace.
pub trait Subscriber: std::fmt::Debug + Send + Sync {
    /// Receives an event. Events of one process come in order; those of different processes may come concurrently. The process is blocked
    /// until this call returns, so the call must return quickly, and must not call the workspace.
    fn event(&self, process: Subject<'_>, event: ProcessEvent<'_>);

    /// Receives denials of the sandbox: the likely ones of a process at its end, and certain ones at once. The conditions are those of
    /// [`Subscriber::event`].
    fn denied(&self, denials: Denials<'_>) {
        _ = denials;
    }
}
