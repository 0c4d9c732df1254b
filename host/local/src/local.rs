//! A workspace on this machine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;

use toolhost_state::closed::Closed;
use toolhost_state::id::ChatId;
use toolhost_store::HostState;
use toolhost_workspace::files::{Chunk as FileChunk, CpuAccount, Entry, Error as FileError};
use toolhost_workspace::files::{Metadata, Skipped, Write};
use toolhost_workspace::process::{
    AllQuery, Chunk, Command, Error, Info, Listed, Observation, ProcessName, Signal, Snapshot,
    Started, State, Subscriber, WaitOptions, Waited,
};
use toolhost_workspace::{Owner, Status, Workspace};

use crate::OpenError;
use crate::files::{self, Files, Pool, Temporaries, Work};
use crate::process::{Config, Registry};

/// A directory of this machine. Several directories can share one registry of processes: see [`Local::beside`].
#[derive(Debug)]
pub struct Local {
    root: Arc<Path>,
    processes: Arc<Registry>,
    files: Pool,
}

impl Local {
    /// Opens a directory as a workspace: that of the configuration of processes, as an absolute path. Records of processes are
    /// kept in this state; if that outlives the host, the names of temporary files are as well.
    ///
    /// # Errors
    ///
    /// If it cannot be resolved to a directory, or the state cannot be used.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the one that it is called in runs the tasks of all processes.
    pub async fn open(
        config: Config,
        files: files::Config,
        state: &HostState,
    ) -> Result<Self, OpenError> {
        let path = config.workspace.clone();
        let workspace = path.canonicalize().map_err(|source| OpenError::Unusable {
            path: path.clone(),
            source,
        })?;
        if !workspace.is_dir() {
            return Err(OpenError::NotADirectory(workspace));
        }
        let closed = config.closed.and(config.sandbox.never.iter().cloned());
        let config = Config {
            workspace,
            closed: closed.with_own(state.directory().map(Path::to_path_buf)),
            ..config
        };
        // The files also get the path as the operator wrote it, because a model may use that path.
        let files = files::Config {
            workspace: path,
            ..files
        };
        let opened = Files::open(&files, &config.closed)?;
        let temporaries = match state.directory() {
            Some(_) => Some(Temporaries::open(Arc::clone(state.local())).await?),
            None => None,
        };
        let processes = Registry::open(config, state).await?;
        Ok(Self {
            root: Arc::clone(processes.workspace()),
            files: Pool::new(opened.storing(temporaries.map(Arc::new))),
            processes,
        })
    }

    /// Opens another directory as a workspace with the same registry of processes. Its commands are confined to it by the same policy,
    /// and the limits of chats, the saved outputs and the lists of processes are those of all these directories together. `path` is
    /// absolute and has no link in it. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// If its files cannot be offered.
    pub fn beside(&self, path: &Path) -> Result<Self, OpenError> {
        Ok(Self {
            root: path.into(),
            processes: Arc::clone(&self.processes),
            files: self.files.beside(path)?,
        })
    }

    /// Returns the further directories whose files may be reached, in this workspace and in those beside it.
    pub(crate) fn further_roots(&self) -> impl Iterator<Item = &Path> {
        self.files.files().further_roots()
    }

    /// Returns the paths that are closed to commands and to the tools for files.
    pub(crate) fn closed(&self) -> &Closed {
        self.files.files().closed()
    }

    /// Returns the processes of all chats, in this directory and in those that share its registry.
    pub fn processes(&self) -> &Arc<Registry> {
        &self.processes
    }
}

impl Workspace for Local {
    fn root(&self) -> &Path {
        &self.root
    }

    fn status(&self) -> BoxFuture<'_, Result<Status, Error>> {
        let status = Status {
            containment: self.processes.containment(),
            totals: self.processes.totals(),
            named: None,
            shortage: self.processes.shortage(),
        };
        Box::pin(async { Ok(status) })
    }

    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        self.processes.subscribe(subscriber);
    }

    fn start<'a>(
        &'a self,
        owner: Owner<'a>,
        command: Command,
    ) -> BoxFuture<'a, Result<Started, Error>> {
        Box::pin(async move {
            let started = self.processes.start_or_find(&self.root, owner, command);
            let (process, is_new) = started.await?;
            let id = process.id().to_owned();
            Ok(Started { id, is_new })
        })
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

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, Error>> {
        Box::pin(async move { Ok(self.processes.find(id)?.chat().cloned()) })
    }

    fn info<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        Box::pin(async move { Ok(self.processes.get(owner, id)?.info()) })
    }

    fn wait<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        Box::pin(async move { self.processes.get(owner, id)?.wait(&options).await })
    }

    fn snapshot<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>> {
        Box::pin(async move { Ok(self.processes.get(owner, id)?.snapshot().await) })
    }

    fn read<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        Box::pin(async move { Ok(self.processes.get(owner, id)?.read(since, max).await) })
    }

    fn signal<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move { self.processes.signal(owner, id, signal, grace) })
    }

    fn end<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move { self.processes.end(owner, id).await })
    }

    fn cancel<'a>(&'a self, owner: Owner<'a>, key: &'a str) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move { Ok(self.processes.cancel(owner, key).await) })
    }

    fn list<'a>(
        &'a self,
        owner: Owner<'a>,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        Box::pin(async move { Ok(self.processes.list(owner, running_only, max)) })
    }

    fn list_all(&self, query: AllQuery) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move { Ok(self.processes.list_all(&query)) })
    }

    fn observe(
        &self,
        processes: Vec<ProcessName>,
    ) -> BoxFuture<'_, Result<Vec<Observation>, Error>> {
        Box::pin(self.processes.observe(processes))
    }

    fn metadata(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Metadata, FileError>> {
        let run = move |files: &Files, _: &Work| files.metadata(&path);
        Box::pin(async move { self.files.run(account, run).await.flatten() })
    }

    fn read_file(
        &self,
        path: String,
        offset: u64,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<FileChunk, FileError>> {
        let run = move |files: &Files, _: &Work| files.read(&path, offset, max);
        Box::pin(async move { self.files.run(account, run).await.flatten() })
    }

    fn skip_lines(
        &self,
        path: String,
        offset: u64,
        lines: u64,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Skipped, FileError>> {
        let run = move |files: &Files, work: &Work| files.skip_lines(&path, offset, lines, work);
        Box::pin(async move { self.files.run(account, run).await.flatten() })
    }

    fn write_files(
        &self,
        writes: Vec<Write>,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, FileError)>> {
        let run = move |files: &Files, _: &Work| files.write_all(writes);
        Box::pin(async move {
            let ran = self.files.run(account, run).await;
            ran.map_err(|error| (0, error)).flatten()
        })
    }

    fn read_directory(
        &self,
        path: String,
        after: Option<String>,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<(Vec<Entry>, bool), FileError>> {
        let run = move |files: &Files, work: &Work| {
            files.read_directory(&path, after.as_deref(), max, work)
        };
        Box::pin(async move { self.files.run(account, run).await.flatten() })
    }

    fn resolve(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<PathBuf, FileError>> {
        let run = move |files: &Files, _: &Work| files.resolve(&path);
        Box::pin(async move { self.files.run(account, run).await.flatten() })
    }

    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, FileError>> {
        Box::pin(async move {
            let files = self
                .files
                .restricted(roots)
                .map_err(files::OpenError::for_caller)?;
            Ok(Arc::new(Self {
                root: Arc::clone(&self.root),
                processes: Arc::clone(&self.processes),
                files,
            }) as Arc<dyn Workspace>)
        })
    }

    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        Box::pin(async move { Ok(self.processes.end_chat(chat).await) })
    }

    fn end_all(&self) -> BoxFuture<'_, Vec<Info>> {
        Box::pin(self.processes.shutdown())
    }

    fn kill_now(&self) {
        self.processes.kill_now();
    }
}
