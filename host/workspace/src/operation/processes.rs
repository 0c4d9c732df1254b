//! Operations on processes.

use std::time::Duration;

use toolhost_state::id::ChatId;

use super::{LONGEST_ANSWER, Repeat, SHORT_ANSWER, operation, with_bytes};
use crate::process::{
    AllQuery, Chunk, Command, Error, INPUT_PATIENCE, Info, Input, Listed, MAX_COMMAND, MAX_INPUT,
    MAX_LINE, MAX_OBSERVED, Observation, ProcessName, Signal, Snapshot, Started, State,
    WaitOptions, Waited,
};
use crate::{Owner, Status};

/// The most bytes of standard input that an agent takes, and of the variables of a command.
const MAX_STDIN: usize = 4 << 20;

/// The most bytes of a [`ProcessName`] as JSON.
const MAX_NAME: usize = 512;

/// The most bytes of output in a [`Snapshot`]: far more than an agent keeps in memory of one process.
const MAX_SNAPSHOT: usize = 1 << 20;

/// JSON and base64 make texts longer: six bytes for a control character at most.
const ESCAPED: usize = 6;

/// How long a workspace may take to end processes: the longest grace of a signal, and what SIGKILL takes.
const LONGEST_END: Duration = Duration::from_secs(60);

operation! {
    /// Returns how commands are run, and the totals of their processes.
    GetStatus = "status", {} -> Result<Status, Error>;
}

operation! {
    /// Starts a command and returns its process. The key of the command names this start: a repeat with the same key starts nothing
    /// and returns the process of the first.
    Start = "start", {
        /// The chat that the process is to belong to.
        owner: Option<ChatId>,
        /// The command.
        command: Command,
    } -> Result<Started, Error>;

    const MAX_BYTES: usize = MAX_COMMAND * ESCAPED + 2 * MAX_STDIN;

    fn repeat(&self) -> Repeat {
        match self.command.key {
            Some(_) => Repeat::Keyed,
            None => Repeat::Acts,
        }
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Returns the chat of the process that has this id: this chat, or another one that begins with `reach`.
    Open = "open", {
        /// The chat that asks.
        chat: ChatId,
        /// How the names of further chats begin.
        reach: Option<String>,
        /// The process.
        id: String,
    } -> Result<ChatId, Error>;

    fn owner(&self) -> Owner<'_> {
        Some(&self.chat)
    }
}

operation! {
    /// Returns the owner of the process that has this id, for callers that may see all processes.
    Find = "find", {
        /// The process.
        id: String,
    } -> Result<Option<ChatId>, Error>;
}

operation! {
    /// Returns the entry of a process in a list.
    InfoOf = "info", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
    } -> Result<Info, Error>;

    fn max_answer(&self) -> usize {
        MAX_COMMAND * ESCAPED + SHORT_ANSWER
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Waits for the end of a process, or for a condition in the options.
    Wait = "wait", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// The conditions.
        options: WaitOptions,
    } -> Result<Waited, Error>;

    fn waits(&self) -> Duration {
        self.options.timeout
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Returns state and bounded output of this moment.
    TakeSnapshot = "snapshot", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
    } -> Result<Snapshot, Error>;

    fn max_answer(&self) -> usize {
        with_bytes(MAX_SNAPSHOT)
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Returns at most `max` bytes of output from the cursor `since` on.
    Read = "read", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// The cursor of the first byte.
        since: u64,
        /// The most bytes.
        max: usize,
    } -> Result<Chunk, Error>;

    fn max_answer(&self) -> usize {
        with_bytes(self.max)
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Sends a signal to everything that a process started; `grace` is for [`Signal::Terminate`].
    SendSignal = "signal", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// The signal.
        signal: Signal,
        /// The time until SIGKILL.
        grace: Option<Duration>,
    } -> Result<State, Error>;

    const CHANGES: bool = true;

    fn repeat(&self) -> Repeat {
        Repeat::Acts
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Writes to the standard input of a process, ends it, or changes the size of its terminal. Returns when all bytes are written: how many of them
    /// the program has read is not known. Inputs of one process are done one after another.
    ///
    /// A program that reads nothing fails it after [`INPUT_PATIENCE`], with [`Error::Failed`], whose text says how many bytes were written.
    SendInput = "input", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// What is done.
        input: Input,
        /// Names this input among the latest [`KNOWN_INPUTS`](crate::process::KNOWN_INPUTS) of the process: a repeat with the same key does nothing. At most
        /// [`MAX_KEY`](crate::process::MAX_KEY) bytes. It holds
        /// for as long as the workspace has the process open.
        key: Option<String>,
    } -> Result<State, Error>;

    const MAX_BYTES: usize = 2 * MAX_INPUT;

    fn repeat(&self) -> Repeat {
        Repeat::Acts
    }

    fn waits(&self) -> Duration {
        INPUT_PATIENCE
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Ends a process: SIGTERM to everything that it started, and SIGKILL to the processes that are left after the grace of
    /// the workspace. Returns its state when nothing of it is left, or when the workspace gave it up because even SIGKILL
    /// does not end it: it is live then. A workspace bounds the wait, and goes on if the returned future is dropped.
    End = "end", {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
    } -> Result<State, Error>;

    const CHANGES: bool = true;

    fn waits(&self) -> Duration {
        LONGEST_END
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Kills all processes of an owner that were started with this key, and waits for their end. Returns how many were live.
    Cancel = "cancel", {
        /// The chat of the processes.
        owner: Option<ChatId>,
        /// The key of their starts.
        key: String,
    } -> Result<usize, Error>;

    const CHANGES: bool = true;

    fn waits(&self) -> Duration {
        LONGEST_END
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Returns at most `max` processes of an owner and how many it has: running ones first, then those of which only a part
    /// still runs, then those that ended, each newest first.
    List = "list", {
        /// The chat of the processes.
        owner: Option<ChatId>,
        /// Whether to leave out processes that ended.
        running_only: bool,
        /// The most processes.
        max: usize,
    } -> Result<(Vec<Info>, usize), Error>;

    fn max_answer(&self) -> usize {
        LONGEST_ANSWER
    }

    fn owner(&self) -> Owner<'_> {
        self.owner.as_ref()
    }
}

operation! {
    /// Returns a page of the processes of all owners, in the order of [`List`].
    ListAll = "list-all", {
        /// Which processes.
        query: AllQuery,
    } -> Result<Listed, Error>;

    fn max_answer(&self) -> usize {
        LONGEST_ANSWER
    }
}

operation! {
    /// Returns what processes use and last wrote, in any order; unknown processes are left out. It counts as a use of no chat. At most
    /// [`MAX_OBSERVED`] processes are observed at once.
    Observe = "observe", {
        /// The processes.
        processes: Vec<ProcessName>,
    } -> Result<Vec<Observation>, Error>;

    const MAX_BYTES: usize = MAX_OBSERVED * MAX_NAME;

    fn max_answer(&self) -> usize {
        self.processes.len() * (MAX_LINE * ESCAPED + 2 * MAX_NAME) + SHORT_ANSWER
    }
}

operation! {
    /// Ends every process of a chat and returns those that were live. A repeat finds nothing live, so it may return fewer processes.
    EndChat = "end-chat", {
        /// The chat.
        chat: ChatId,
    } -> Result<Vec<Info>, Error>;

    const CHANGES: bool = true;

    fn max_answer(&self) -> usize {
        LONGEST_ANSWER
    }

    fn waits(&self) -> Duration {
        LONGEST_END
    }

    fn owner(&self) -> Owner<'_> {
        Some(&self.chat)
    }
}
