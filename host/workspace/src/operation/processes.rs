//! Operations on processes.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolhost_state::id::ChatId;

use super::{LONGEST_REPLY, Repeat, SHORT_REPLY, operation, with_bytes};
use crate::process::{
    AllQuery, Chunk, Command, Error, Info, Listed, MAX_COMMAND, MAX_LINE, MAX_OBSERVED,
    Observation, ProcessName, Signal, Snapshot, Started, State, WaitOptions, Waited, Wake,
};
use crate::{Owner, Status, Workspace};

/// The most bytes of standard input that an agent takes, and of the variables of a command.
const MAX_STDIN: usize = 4 << 20;

/// The most bytes of a [`ProcessName`] as JSON.
const MAX_NAME: usize = 512;

/// The most bytes of output in a [`Snapshot`]: far more than an agent keeps in memory of one process.
const MAX_SNAPSHOT: usize = 1 << 20;

/// JSON and base64 make texts longer: six bytes for a control character at most.
const ESCAPED: usize = 6;

operation! {
    /// See [`Workspace::status`](crate::Workspace::status).
    GetStatus = "status", |_| Repeat::Harmless, {} -> Result<Status, Error>,
    |_this, workspace| workspace.status().await
}

/// The result of a start, and of the process if that ended at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedAnd {
    /// The result of the start.
    pub started: Started,
    /// The end of the process, if it came within the time of [`Start::for_end`].
    pub ended: Option<Ended>,
}

/// The result of a wait, and the last snapshot of the process if nothing of it is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitedAnd {
    /// The result of the wait.
    pub waited: Waited,
    /// The end of the process.
    pub ended: Option<Ended>,
}

/// A process of which nothing is left, with the output that is kept in memory. It does not change any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// What a wait for its end returns.
    pub waited: Waited,
    /// What a snapshot returns.
    pub snapshot: Snapshot,
}

/// The longest output that an [`Ended`] has, in bytes. That of other processes is asked for.
const MAX_OUTPUT: usize = 8 << 10;

/// Returns the end of a process if nothing of it is left. That spares the next request of a caller that waited for it.
async fn ended(
    workspace: &dyn Workspace,
    owner: Owner<'_>,
    id: &str,
    waited: &Waited,
) -> Option<Ended> {
    if waited.wake != Wake::Ended || !matches!(waited.state, State::Exited(_)) {
        return None;
    }
    let snapshot = workspace.snapshot(owner, id).await.ok()?;
    let is_short = snapshot.head.len() + snapshot.tail.len() <= MAX_OUTPUT;
    is_short.then(|| Ended {
        waited: waited.clone(),
        snapshot,
    })
}

operation! {
    /// See [`Workspace::start`](crate::Workspace::start).
    Start = "start", |start| match start.command.key {
        Some(_) => Repeat::Keyed,
        None => Repeat::Acts,
    }, {
        /// The chat that the process is to belong to.
        owner: Option<ChatId>,
        /// The command.
        command: Command,
        /// How long to wait for its end. A command that ends sooner needs no other request.
        #[serde(default)]
        for_end: Option<Duration>,
    } -> Result<StartedAnd, Error>,
    max_bytes = MAX_COMMAND * ESCAPED + 2 * MAX_STDIN,
    waits = |this| this.for_end.unwrap_or_default(),
    |this, workspace| {
        let owner = this.owner.as_ref();
        let started = workspace.start(owner, this.command).await?;
        let options = this.for_end.map(|timeout| WaitOptions {
            timeout,
            ..WaitOptions::default()
        });
        let waited = match options {
            Some(options) => workspace.wait(owner, &started.id, options).await.ok(),
            None => None,
        };
        let ended = match &waited {
            Some(waited) => ended(workspace, owner, &started.id, waited).await,
            None => None,
        };
        Ok(StartedAnd { started, ended })
    }
}

operation! {
    /// See [`Workspace::open`](crate::Workspace::open).
    Open = "open", |_| Repeat::Harmless, {
        /// The chat that asks.
        chat: ChatId,
        /// How the names of further chats begin.
        reach: Option<String>,
        /// The process.
        id: String,
    } -> Result<ChatId, Error>,
    |this, workspace| workspace.open(&this.chat, this.reach.as_deref(), &this.id).await
}

operation! {
    /// See [`Workspace::find`](crate::Workspace::find).
    Find = "find", |_| Repeat::Harmless, {
        /// The process.
        id: String,
    } -> Result<Option<ChatId>, Error>,
    |this, workspace| workspace.find(&this.id).await
}

operation! {
    /// See [`Workspace::info`](crate::Workspace::info).
    InfoOf = "info", |_| Repeat::Harmless, {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
    } -> Result<Info, Error>,
    max_reply = |_this| MAX_COMMAND * ESCAPED + SHORT_REPLY,
    |this, workspace| workspace.info(this.owner.as_ref(), &this.id).await
}

operation! {
    /// See [`Workspace::wait`](crate::Workspace::wait).
    Wait = "wait", |_| Repeat::Harmless, {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// The conditions.
        options: WaitOptions,
    } -> Result<WaitedAnd, Error>,
    waits = |this| this.options.timeout,
    |this, workspace| {
        let owner = this.owner.as_ref();
        let waited = workspace.wait(owner, &this.id, this.options).await?;
        let ended = ended(workspace, owner, &this.id, &waited).await;
        Ok(WaitedAnd { waited, ended })
    }
}

operation! {
    /// See [`Workspace::snapshot`](crate::Workspace::snapshot).
    TakeSnapshot = "snapshot", |_| Repeat::Harmless, {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
    } -> Result<Snapshot, Error>,
    max_reply = |_this| with_bytes(MAX_SNAPSHOT),
    |this, workspace| workspace.snapshot(this.owner.as_ref(), &this.id).await
}

operation! {
    /// See [`Workspace::read`](crate::Workspace::read).
    Read = "read", |_| Repeat::Harmless, {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// The cursor of the first byte.
        since: u64,
        /// The most bytes.
        max: usize,
    } -> Result<Chunk, Error>,
    max_reply = |this| with_bytes(this.max),
    |this, workspace| workspace.read(this.owner.as_ref(), &this.id, this.since, this.max).await
}

operation! {
    /// See [`Workspace::signal`](crate::Workspace::signal).
    SendSignal = "signal", |_| Repeat::Acts, {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
        /// The signal.
        signal: Signal,
        /// The time until SIGKILL.
        grace: Option<Duration>,
    } -> Result<State, Error>,
    |this, workspace| {
        let owner = this.owner.as_ref();
        workspace.signal(owner, &this.id, this.signal, this.grace).await
    }
}

operation! {
    /// See [`Workspace::end`](crate::Workspace::end).
    End = "end", |_| Repeat::Harmless, {
        /// The chat of the process.
        owner: Option<ChatId>,
        /// The process.
        id: String,
    } -> Result<State, Error>,
    waits = |_this| LONGEST_END,
    |this, workspace| workspace.end(this.owner.as_ref(), &this.id).await
}

operation! {
    /// See [`Workspace::cancel`](crate::Workspace::cancel).
    Cancel = "cancel", |_| Repeat::Harmless, {
        /// The chat of the processes.
        owner: Option<ChatId>,
        /// The key of their starts.
        key: String,
    } -> Result<usize, Error>,
    waits = |_this| LONGEST_END,
    |this, workspace| workspace.cancel(this.owner.as_ref(), &this.key).await
}

operation! {
    /// See [`Workspace::list`](crate::Workspace::list).
    List = "list", |_| Repeat::Harmless, {
        /// The chat of the processes.
        owner: Option<ChatId>,
        /// Whether to leave out processes that ended.
        running_only: bool,
        /// The most processes.
        max: usize,
    } -> Result<(Vec<Info>, usize), Error>,
    max_reply = |_this| LONGEST_REPLY,
    |this, workspace| workspace.list(this.owner.as_ref(), this.running_only, this.max).await
}

operation! {
    /// See [`Workspace::list_all`](crate::Workspace::list_all).
    ListAll = "list-all", |_| Repeat::Harmless, {
        /// Which processes.
        query: AllQuery,
    } -> Result<Listed, Error>,
    max_reply = |_this| LONGEST_REPLY,
    |this, workspace| workspace.list_all(this.query).await
}

operation! {
    /// See [`Workspace::observe`](crate::Workspace::observe).
    Observe = "observe", |_| Repeat::Harmless, {
        /// The processes.
        processes: Vec<ProcessName>,
    } -> Result<Vec<Observation>, Error>,
    max_bytes = MAX_OBSERVED * MAX_NAME,
    max_reply = |this| this.processes.len() * (MAX_LINE * ESCAPED + 2 * MAX_NAME) + SHORT_REPLY,
    |this, workspace| workspace.observe(this.processes).await
}

operation! {
    /// See [`Workspace::end_chat`](crate::Workspace::end_chat). A repeat finds nothing live, so it may return fewer processes.
    EndChat = "end-chat", |_| Repeat::Harmless, {
        /// The chat.
        chat: ChatId,
    } -> Result<Vec<Info>, Error>,
    max_reply = |_this| LONGEST_REPLY,
    waits = |_this| LONGEST_END,
    |this, workspace| workspace.end_chat(&this.chat).await
}

/// How long a workspace may take to end processes: the longest grace of a signal, and what SIGKILL takes.
const LONGEST_END: Duration = Duration::from_secs(60);
