//! The seam between tools and the machine on which commands run.
//!
//! One trait, so that a plugin does not see whether its workspace is this machine or another one. This version has one
//! implementation, [`Local`].

mod bounded;
mod local;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::files::{self, Entry, Metadata, Work, Write};
use crate::process::{Chunk, Command, Error, Info, Signal, Snapshot, State, WaitOptions, Waited};
use toolhost_state::id::ChatId;

pub(crate) use bounded::{Bounded, Sees};
pub use local::Local;

/// A place where commands run, and where files are. Every operation on processes is in the scope of one chat, and names a
/// process by its id.
///
/// Any operation may answer that the workspace cannot be reached, or no longer, where it is another machine.
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

    /// Returns the chat of the process that has this id: this chat, or another one that begins with `reach`.
    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        reach: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>>;

    /// Returns what a list shows of a process.
    fn info<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        Box::pin(async move {
            let (infos, _) = self.list(chat, false, usize::MAX).await?;
            let found = infos.into_iter().find(|info| info.id == id);
            found.ok_or_else(|| Error::NotFound(id.to_owned()))
        })
    }

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

    /// Ends a process: SIGTERM to everything that it started, and SIGKILL to what is left after the grace of the workspace.
    /// Returns how it stands when nothing of it is left, or when it was given up because even SIGKILL does not end it: it
    /// is live then. An implementation bounds the wait, and goes on if the returned future is dropped.
    fn end<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<State, Error>>;

    /// Returns at most `max` processes and how many there are.
    fn list<'a>(
        &'a self,
        chat: &'a ChatId,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>>;

    /// Returns facts about what a path names. As for all operations on files, relative paths begin at [`Workspace::root`], and
    /// what it costs is added to the work; a workspace that does not have them is unavailable for them.
    fn metadata(
        &self,
        _path: String,
        _work: Arc<Work>,
    ) -> BoxFuture<'_, Result<Metadata, files::Error>> {
        no_files()
    }

    /// Returns at most `max` bytes of a file from the byte `offset` on.
    fn read_file(
        &self,
        _path: String,
        _offset: u64,
        _max: usize,
        _work: Arc<Work>,
    ) -> BoxFuture<'_, Result<files::Chunk, files::Error>> {
        no_files()
    }

    /// Goes over at most `lines` lines of a file from the byte `offset` on.
    fn skip_lines(
        &self,
        _path: String,
        _offset: u64,
        _lines: u64,
        _work: Arc<Work>,
    ) -> BoxFuture<'_, Result<files::Skipped, files::Error>> {
        no_files()
    }

    /// Writes all files or none. The error names the index of the one that failed.
    fn write_files(
        &self,
        _writes: Vec<Write>,
        _work: Arc<Work>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, files::Error)>> {
        Box::pin(async { no_files().await.map_err(|error| (0, error)) })
    }

    /// Returns at most `max` names of a directory after one of them, and whether more follow.
    fn read_directory(
        &self,
        _path: String,
        _after: Option<String>,
        _max: usize,
        _work: Arc<Work>,
    ) -> BoxFuture<'_, Result<(Vec<Entry>, bool), files::Error>> {
        no_files()
    }

    /// Returns this workspace with the files of these directories alone, relative to the workspace or absolute.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used, or the workspace has no files.
    fn restricted(&self, _roots: &[PathBuf]) -> Result<Arc<dyn Workspace>, OpenError> {
        Err(OpenError::NoFiles)
    }

    /// Ends every process of a chat and returns those that were live.
    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>>;

    /// Ends every process and returns those that were live. Nothing can be started afterwards.
    fn shutdown(&self) -> BoxFuture<'_, Vec<Info>>;

    /// Kills what is being ended at once, without the rest of its grace.
    fn kill_now(&self);
}

fn no_files<'a, T>() -> BoxFuture<'a, Result<T, files::Error>> {
    let error = files::Error::Unavailable("this workspace offers no files".into());
    Box::pin(async { Err(error) })
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
    /// It has no files, of which some could be offered.
    #[error("this workspace offers no files")]
    NoFiles,
    /// Its files cannot be offered.
    #[error(transparent)]
    Files(#[from] files::OpenError),
}
