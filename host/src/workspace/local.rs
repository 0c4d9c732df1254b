//! A workspace on this machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{OpenError, Workspace};
use crate::id::ChatId;
use crate::process::{
    Chunk, Command, Config, Error, Info, Registry, Signal, Snapshot, State, WaitOptions, Waited,
};

/// A directory of this machine.
#[derive(Debug)]
pub struct Local {
    processes: Arc<Registry>,
}

impl Local {
    /// Opens a directory as a workspace. The directory of the configuration becomes absolute.
    ///
    /// # Errors
    ///
    /// If it cannot be resolved to a directory, or the records of processes cannot be used.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the one that it is called in runs the tasks of all processes.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        let path = config.workspace.clone();
        let workspace = path
            .canonicalize()
            .map_err(|source| OpenError::Unusable { path, source })?;
        if !workspace.is_dir() {
            return Err(OpenError::NotADirectory(workspace));
        }
        let config = Config {
            workspace,
            ..config
        };
        Ok(Self {
            processes: Registry::open(config)?,
        })
    }

    /// Returns the processes, of all chats.
    pub fn processes(&self) -> &Arc<Registry> {
        &self.processes
    }
}

impl Workspace for Local {
    fn root(&self) -> &Path {
        self.processes.workspace()
    }

    fn start<'a>(
        &'a self,
        chat: &'a ChatId,
        command: Command,
    ) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move { Ok(self.processes.start(chat, command).await?.id().to_owned()) })
    }

    fn open<'a>(&'a self, chat: &'a ChatId, id: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.processes.get(chat, id).map(|_| ()) })
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

    fn list<'a>(
        &'a self,
        chat: &'a ChatId,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        Box::pin(async move { Ok(self.processes.list(chat, running_only, max)) })
    }

    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        Box::pin(async move { Ok(self.processes.end_chat(chat).await) })
    }

    fn shutdown(&self) -> BoxFuture<'_, Vec<Info>> {
        Box::pin(self.processes.shutdown())
    }

    fn hurry(&self) {
        self.processes.hurry();
    }
}
