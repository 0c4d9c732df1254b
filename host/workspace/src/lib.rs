//! The seam between tools and the machine on which commands run: the trait [`Workspace`], its values, and the trait [`Provider`] of
//! workspaces with a name.
//!
//! A plugin, the agent API and the server see processes and files through this trait alone, so that they do not know whether a
//! workspace is this machine or another one. The values can be sent to another machine.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod base64;
mod bounded;
pub mod files;
pub mod operation;
pub mod process;
mod provider;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolhost_state::id::ChatId;

use files::{CpuAccount, Entry, Metadata, Skipped, Write};
use process::{
    AllQuery, Chunk, Command, Containment, Error, Info, Listed, Observation, ProcessName, Signal,
    Snapshot, Started, State, Subscriber, Totals, WaitOptions, Waited,
};

pub use bounded::{Bounded, Sight};
pub use provider::{
    AgentSpec, DirectorySpec, GitSpec, Opened, Provider, ProviderError, Quota, Spec, Watched,
};

/// The owner of a process: a chat, or `None` if a client of the agent API started the process and named no chat.
pub type Owner<'a> = Option<&'a ChatId>;

/// How a workspace runs commands, and its totals.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Status {
    /// How the processes of a command are held together, and why not better.
    pub containment: Containment,
    /// The totals of all processes.
    pub totals: Totals,
    /// The workspaces with names beside this one; `None` if it has none.
    #[serde(default)]
    pub named: Option<NamedCounts>,
    /// The starts that were refused because the machine had no room; `None` if none was.
    #[serde(default)]
    pub shortage: Option<Shortage>,
}

/// The starts that were refused because a machine had no room for them.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Shortage {
    /// How many were refused.
    pub count: u64,
    /// How long ago the last one was refused, in seconds.
    pub seconds_ago: u64,
    /// The reason of the last one.
    pub why: String,
}

/// How many workspaces with names there are.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct NamedCounts {
    /// All of them.
    pub known: u64,
    /// Those that are open.
    pub open: u64,
    /// Those that could not be opened the last time.
    pub failed: u64,
}

/// A directory in which commands run and files are. Every operation on processes is in the scope of one [`Owner`], and names
/// a process by its id.
///
/// Where a workspace is another machine, any operation may answer [`Error::Unavailable`] or [`Error::UnknownOutcome`].
pub trait Workspace: std::fmt::Debug + Send + Sync {
    /// Returns the absolute path of the workspace directory, as a command sees it.
    fn root(&self) -> &Path;

    /// Returns the workspace that this one wraps, to which operations that it does not define are forwarded. Without an inner
    /// workspace, such an operation answers [`Error::Unavailable`].
    fn inner(&self) -> Option<&dyn Workspace> {
        None
    }

    /// Returns how commands are run, and the totals of their processes.
    fn status(&self) -> BoxFuture<'_, Result<Status, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.status())
    }

    /// Lets later subscribers of the workspace of an agent hear also of the processes that ended up to this long ago, as others may have
    /// started them. A workspace that has no other users has no such processes, and does nothing.
    fn hear_since(&self, ago: Duration) {
        if let Some(inner) = self.inner() {
            inner.hear_since(ago);
        }
    }

    /// Sends all process events from now on to this subscriber, until it is dropped.
    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        if let Some(inner) = self.inner() {
            inner.subscribe(subscriber);
        }
    }

    /// Starts a command and returns its process. The key of the command names this start: a repeat with the same
    /// key starts nothing and returns the process of the first.
    fn start<'a>(
        &'a self,
        owner: Owner<'a>,
        command: Command,
    ) -> BoxFuture<'a, Result<Started, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.start(owner, command))
    }

    /// Returns the chat of the process that has this id: this chat, or another one that begins with `reach`.
    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        reach: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.open(chat, reach, id))
    }

    /// Returns the owner of the process that has this id, for callers that may see all processes.
    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.find(id))
    }

    /// Returns the entry of a process in a list.
    fn info<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.info(owner, id))
    }

    /// Waits for the end of a process, or for a condition in the options.
    fn wait<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.wait(owner, id, options))
    }

    /// Returns state and bounded output of this moment.
    fn snapshot<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.snapshot(owner, id))
    }

    /// Returns at most `max` bytes of output from the cursor `since` on.
    fn read<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.read(owner, id, since, max))
    }

    /// Sends a signal to everything that a process started; `grace` is for [`Signal::Terminate`].
    fn signal<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.signal(owner, id, signal, grace))
    }

    /// Ends a process: SIGTERM to everything that it started, and SIGKILL to the processes that are left after the grace of
    /// the workspace. Returns its state when nothing of it is left, or when the workspace gave it up because even SIGKILL
    /// does not end it: it is live then. An implementation bounds the wait, and goes on if the returned future is dropped.
    fn end<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.end(owner, id))
    }

    /// Kills all processes of an owner that were started with this key, and waits for their end. Returns how many were live.
    fn cancel<'a>(&'a self, owner: Owner<'a>, key: &'a str) -> BoxFuture<'a, Result<usize, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.cancel(owner, key))
    }

    /// Returns at most `max` processes of an owner and how many it has: running ones first, then those of which only a part
    /// still runs, then those that ended, each newest first.
    fn list<'a>(
        &'a self,
        owner: Owner<'a>,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.list(owner, running_only, max))
    }

    /// Returns a page of the processes of all owners, in the order of [`Workspace::list`].
    fn list_all(&self, query: AllQuery) -> BoxFuture<'_, Result<Listed, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.list_all(query))
    }

    /// Returns what processes use and last wrote, in any order; unknown processes are left out. It counts as a use of no chat. At most
    /// [`MAX_OBSERVED`](process::MAX_OBSERVED) processes are observed at once.
    fn observe(
        &self,
        processes: Vec<ProcessName>,
    ) -> BoxFuture<'_, Result<Vec<Observation>, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.observe(processes))
    }

    /// Returns facts about the file or directory at a path. As for all operations on files, relative paths begin at
    /// [`Workspace::root`], and the account is charged. A workspace without files answers [`files::Error::Unavailable`].
    fn metadata(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Metadata, files::Error>> {
        self.inner()
            .map_or_else(no_files, |inner| inner.metadata(path, account))
    }

    /// Returns at most `max` bytes of a file from the byte `offset` on.
    fn read_file(
        &self,
        path: String,
        offset: u64,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<files::Chunk, files::Error>> {
        self.inner().map_or_else(no_files, |inner| {
            inner.read_file(path, offset, max, account)
        })
    }

    /// Goes over at most `lines` lines of a file from the byte `offset` on.
    fn skip_lines(
        &self,
        path: String,
        offset: u64,
        lines: u64,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Skipped, files::Error>> {
        self.inner().map_or_else(no_files, |inner| {
            inner.skip_lines(path, offset, lines, account)
        })
    }

    /// Writes all files or none. The error names the index of the one that failed.
    fn write_files(
        &self,
        writes: Vec<Write>,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, files::Error)>> {
        match self.inner() {
            Some(inner) => inner.write_files(writes, account),
            None => Box::pin(async { no_files().await.map_err(|error| (0, error)) }),
        }
    }

    /// Returns at most `max` names of a directory, beginning after the name `after`, and whether more follow.
    fn read_directory(
        &self,
        path: String,
        after: Option<String>,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<(Vec<Entry>, bool), files::Error>> {
        self.inner().map_or_else(no_files, |inner| {
            inner.read_directory(path, after, max, account)
        })
    }

    /// Returns the absolute path that a path stands for, every link resolved. The last names may be missing.
    fn resolve(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<PathBuf, files::Error>> {
        self.inner()
            .map_or_else(no_files, |inner| inner.resolve(path, account))
    }

    /// Returns this workspace with the files of these directories alone, relative to the workspace or absolute. The error says
    /// which of them cannot be used.
    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, files::Error>> {
        self.inner()
            .map_or_else(no_files, |inner| inner.restricted(roots))
    }

    /// Ends every process of a chat and returns those that were live.
    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        self.inner()
            .map_or_else(no_processes, |inner| inner.end_chat(chat))
    }

    /// Ends every process of the workspace and returns those that were live. No command can be started afterwards. A host
    /// that stops ends the processes of a workspace only if no other host uses it.
    fn end_all(&self) -> BoxFuture<'_, Vec<Info>> {
        match self.inner() {
            Some(inner) => inner.end_all(),
            None => Box::pin(async { Vec::new() }),
        }
    }

    /// Kills processes that are being ended at once, without the rest of their grace.
    fn kill_now(&self) {
        if let Some(inner) = self.inner() {
            inner.kill_now();
        }
    }
}

fn no_files<'a, T>() -> BoxFuture<'a, Result<T, files::Error>> {
    let error = files::Error::Unavailable("this workspace offers no files".into());
    Box::pin(async { Err(error) })
}

fn no_processes<'a, T>() -> BoxFuture<'a, Result<T, Error>> {
    let error = Error::Unavailable("this workspace runs no commands".into());
    Box::pin(async { Err(error) })
}
