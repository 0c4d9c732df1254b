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

/// One thing that a process did.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent<'a> {
    /// It was started. No event of it comes before this one.
    Started {
        /// The command as it was started, cut at 2 KiB.
        command: &'a str,
        /// The absolute directory in which it was started.
        workdir: &'a Path,
        /// Whether it was started as a background process.
        background: bool,
    },
    /// It wrote. The bytes can be read.
    Output {
        /// The cursor of the first byte.
        offset: u64,
        /// How many bytes it wrote.
        length: u64,
    },
    /// Its state changed. Nothing follows a state in which nothing of the process is left.
    Changed {
        /// The state from now on.
        state: &'a State,
        /// How many bytes it has written so far.
        total: u64,
    },
}

/// A reader of the events of all processes of a workspace.
pub trait Subscriber: std::fmt::Debug + Send + Sync {
    /// Takes an event. The events of one process come in order; those of several processes may come at the same time. The
    /// process cannot go on until this call returns. So it must return soon, and must not call the workspace.
    fn event(&self, process: Subject<'_>, event: ProcessEvent<'_>);

    /// Takes what the sandbox has likely denied to a process, at its end: each in a sentence, with the rule. The same holds as for
    /// events.
    fn denied(&self, process: Subject<'_>, denials: &[String]) {
        _ = (process, denials);
    }
}
