//! The seam between tools and the machine on which commands run.
//!
//! One trait, so that a plugin does not see whether its workspace is this machine or another one. This version has one
//! implementation, [`Local`].

mod local;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::id::ChatId;
use crate::process::{Chunk, Command, Error, Info, Signal, Snapshot, State, WaitOptions, Waited};

pub use local::Local;

/// A place where commands run. Every operation is in the scope of one chat, and names a process by its id.
///
/// Any operation may answer [`Error::Unavailable`] or [`Error::UnknownOutcome`] where the workspace is another machine.
pub trait Workspace: std::fmt::Debug + Send + Sync {
    /// Returns the absolute path of the workspace directory, as a command sees it.
    fn root(&self) -> &Path;

    /// Starts a command and returns the id of its process. The key of the command names this start: a repeat with the same
    /// key starts nothing and returns the process of the first.
    fn start<'a>(
        &'a self,
        chat: &'a ChatId,
        command: Command,
    ) -> BoxFuture<'a, Result<String, Error>>;

    /// Returns whether the chat has a process of this id, as an error if not.
    fn open<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<(), Error>>;

    /// Waits for the end of a process, or for what the options name.
    fn wait<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>>;

    /// Returns state and bounded output of this moment.
    fn snapshot<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>>;

    /// Returns at most `max` bytes of output from the cursor `since` on.
    fn read<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>>;

    /// Sends a signal to everything that a process started; `grace` is for [`Signal::Terminate`].
    fn signal<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>>;

    /// Returns at most `max` processes and how many there are.
    fn list<'a>(
        &'a self,
        chat: &'a ChatId,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>>;

    /// Ends every process of a chat and returns those that were live.
    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>>;

    /// Ends every process and returns those that were live. Nothing can be started afterwards.
    fn shutdown(&self) -> BoxFuture<'_, Vec<Info>>;

    /// Kills what is being ended at once, without the rest of its grace.
    fn hurry(&self);
}

/// A directory that cannot be a workspace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be resolved.
    #[error("the workspace {path} cannot be used", path = path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is no directory.
    #[error("the workspace {path} is not a directory", path = .0.display())]
    NotADirectory(PathBuf),
    /// The records of its processes cannot be used.
    #[error(transparent)]
    Records(#[from] crate::process::OpenError),
}
