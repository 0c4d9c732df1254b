//! A workspace on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{OpenError, Workspace};
use crate::files::{self, Entry, Files, Metadata, Pool, Work, Write};
use crate::process::{
    Chunk, Command, Config, Error, Info, Registry, Signal, Snapshot, State, WaitOptions, Waited,
};
use toolhost_state::id::ChatId;

/// A directory of this machine.
#[derive(Debug)]
pub struct Local {
    processes: Arc<Registry>,
    files: Pool,
}

impl Local {
    /// Opens a directory as a workspace. That of the configuration of processes counts, which becomes absolute.
    ///
    /// # Errors
    ///
    /// If it cannot be resolved to a directory, or the records of processes or the journal of files cannot be used.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the one that it is called in runs the tasks of all processes.
    pub fn open(config: Config, files: files::Config) -> Result<Self, OpenError> {
        let path = config.workspace.clone();
        let workspace = path.canonicalize().map_err(|source| OpenError::Unusable {
            path: path.clone(),
            source,
        })?;
        if !workspace.is_dir() {
            return Err(OpenError::NotADirectory(workspace));
        }
        let config = Config {
            workspace,
            ..config
        };
        // As the operator wrote it: a model may use that path as well.
        let files = files::Config {
            workspace: path,
            ..files
        };
        Ok(Self {
            files: Pool::new(Files::open(&files)?),
            processes: Registry::open(config)?,
        })
    }

    /// Returns the processes, of all chats.
    pub fn processes(&self) -> &Arc<Registry> {
        &self.processes
    }

    /// Returns the files.
    pub fn files(&self) -> &Pool {
        &self.files
    }
}

impl Workspace for Local {
    fn root(&self) -> &Path {
        self.processes.workspace()
    }

    fn restricted(&self, roots: &[PathBuf]) -> Result<Arc<dyn Workspace>, OpenError> {
        Ok(Arc::new(Self {
            processes: Arc::clone(&self.processes),
            files: self.files.restricted(roots)?,
        }))
    }

    fn start<'a>(
        &'a self,
        chat: &'a ChatId,
        command: Command,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move { Ok(self.processes.start(chat, command).await?.id().to_owned()) })
    }

    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        reach: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>> {
        Box::pin(async move {
            let own = self.processes.get(chat, id);
            let process = match (own, reach) {
                (Err(Error::NotFound(_)), Some(_)) => self.processes.find(id),
                (own, _) => own,
            };
            let owner = process?.chat().cloned();
            let within = |owner: &ChatId| {
                owner == chat || reach.is_some_and(|reach| owner.as_str().starts_with(reach))
            };
            owner
                .filter(within)
                .ok_or_else(|| Error::NotFound(id.to_owned()))
        })
    }

    fn info<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        Box::pin(async move { Ok(self.processes.get(chat, id)?.info()) })
    }

    fn wait<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        Box::pin(async move { self.processes.get(chat, id)?.wait(&options).await })
    }

    fn snapshot<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>> {
        Box::pin(async move { Ok(self.processes.get(chat, id)?.snapshot().await) })
    }

    fn read<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        Box::pin(async move { Ok(self.processes.get(chat, id)?.read(since, max).await) })
    }

    fn signal<'a>(
        &'a self,
        chat: &'a ChatId,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move { self.processes.signal(chat, id, signal, grace) })
    }

    fn end<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move { self.processes.end(chat, id).await })
    }

    fn list<'a>(
        &'a self,
        chat: &'a ChatId,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        Box::pin(async move { Ok(self.processes.list(chat, running_only, max)) })
    }

    fn metadata(
        &self,
        path: String,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<Metadata, files::Error>> {
        let run = move |files: &Files, _: &Work| files.metadata(&path);
        Box::pin(async move { self.files.run(work, run).await.flatten() })
    }

    fn read_file(
        &self,
        path: String,
        offset: u64,
        max: usize,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<files::Chunk, files::Error>> {
        let run = move |files: &Files, _: &Work| files.read(&path, offset, max);
        Box::pin(async move { self.files.run(work, run).await.flatten() })
    }

    fn skip_lines(
        &self,
        path: String,
        offset: u64,
        lines: u64,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<files::Skipped, files::Error>> {
        let run = move |files: &Files, work: &Work| files.skip_lines(&path, offset, lines, work);
        Box::pin(async move { self.files.run(work, run).await.flatten() })
    }

    fn write_files(
        &self,
        writes: Vec<Write>,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, files::Error)>> {
        let run = move |files: &Files, _: &Work| files.write_all(writes);
        Box::pin(async move {
            let ran = self.files.run(work, run).await;
            ran.map_err(|error| (0, error)).flatten()
        })
    }

    fn read_directory(
        &self,
        path: String,
        after: Option<String>,
        max: usize,
        work: Arc<Work>,
    ) -> BoxFuture<'_, Result<(Vec<Entry>, bool), files::Error>> {
        let run = move |files: &Files, work: &Work| {
            files.read_directory(&path, after.as_deref(), max, work)
        };
        Box::pin(async move { self.files.run(work, run).await.flatten() })
    }

    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        Box::pin(async move { Ok(self.processes.end_chat(chat).await) })
    }

    fn shutdown(&self) -> BoxFuture<'_, Vec<Info>> {
        Box::pin(self.processes.shutdown())
    }

    fn kill_now(&self) {
        self.processes.kill_now();
    }
}
