//! A workspace on this machine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use toolhost_state::closed::Closed;
use toolhost_state::id::ChatId;
use toolhost_store::HostState;
use toolhost_workspace::files::Error as FileError;
use toolhost_workspace::operation::{
    Answer, AppendUpload, BeginUpload, Cancel, CommitUpload, DropUpload, End, EndChat, Find,
    FindFiles, GetStatus, InfoOf, List, ListAll, ListPorts, MetadataOf, Observe, Open, Operation,
    Read, ReadDirectory, ReadFile, RemoveFile, Resolve, Restrict, SearchText, SendInput,
    SendSignal, SkipLines, Start, TakeSnapshot, Wait, WriteFiles,
};
use toolhost_workspace::process::{
    Connecting, Connection, Error, Held, Info, MAX_CONNECTIONS, Shell, Started, Subscriber,
};
use toolhost_workspace::{Context, Status, Workspace};

use crate::OpenError;
use crate::files::{self, Files, Pool, Temporaries, Work};
use crate::process::{Config, Registry};

/// A directory of this machine. Several directories can share one registry of processes: see [`Local::beside`].
#[derive(Debug)]
pub struct Local {
    root: Arc<Path>,
    processes: Arc<Registry>,
    files: Pool,
    /// A permit for each connection to a port.
    connections: Arc<Semaphore>,
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
            connections: connections(),
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
            connections: connections(),
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

/// The error of a connection too many.
const TOO_MANY: &str =
    "256 connections to ports of this workspace are open, which is the most: close one first";

fn connections() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_CONNECTIONS))
}

impl Local {
    async fn start(&self, Start { owner, command }: Start) -> Result<Started, Error> {
        let started = self
            .processes
            .start_or_find(&self.root, owner.as_ref(), command);
        let (process, is_new) = started.await?;
        let id = process.id().to_owned();
        Ok(Started { id, is_new })
    }

    fn open_process(&self, Open { chat, reach, id }: &Open) -> Result<ChatId, Error> {
        let own = self.processes.get(chat, id);
        let process = match (own, reach) {
            (Err(Error::NotFound(_)), Some(_)) => self.processes.find(id),
            (own, _) => own,
        };
        let owner = process?.chat().cloned();
        let within = |owner: &ChatId| {
            let reaches = |reach: &String| owner.as_str().starts_with(reach);
            owner == chat || reach.as_ref().is_some_and(reaches)
        };
        owner
            .filter(within)
            .ok_or_else(|| Error::NotFound(id.clone()))
    }

    /// Does something with files, on a thread that may block.
    async fn files<T: Send + 'static>(
        &self,
        context: &Context,
        run: impl FnOnce(&Files, &Work) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FileError> {
        let account = Arc::clone(&context.account);
        self.files.run(account, run).await.flatten()
    }
}

impl Workspace for Local {
    fn root(&self) -> &Path {
        &self.root
    }

    fn shell(&self) -> Shell {
        self.processes.shell()
    }

    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        let all = &self.processes;
        Box::pin(async move {
            match operation {
                Operation::GetStatus(GetStatus {}) => Answer::GetStatus(Ok(Status {
                    containment: all.containment(),
                    totals: all.totals(),
                    named: None,
                    shortage: all.shortage(),
                })),
                Operation::Start(start) => Answer::Start(self.start(start).await),
                Operation::Open(open) => Answer::Open(self.open_process(&open)),
                Operation::Find(Find { id }) => {
                    Answer::Find(all.find(&id).map(|process| process.chat().cloned()))
                }
                Operation::InfoOf(InfoOf { owner, id }) => {
                    Answer::InfoOf(all.get(owner.as_ref(), &id).map(|process| process.info()))
                }
                Operation::Wait(Wait { owner, id, options }) => {
                    Answer::Wait(match all.get(owner.as_ref(), &id) {
                        Ok(process) => process.wait(&options).await,
                        Err(error) => Err(error),
                    })
                }
                Operation::TakeSnapshot(TakeSnapshot { owner, id }) => {
                    Answer::TakeSnapshot(match all.get(owner.as_ref(), &id) {
                        Ok(process) => Ok(process.snapshot().await),
                        Err(error) => Err(error),
                    })
                }
                Operation::Read(Read {
                    owner,
                    id,
                    since,
                    max,
                }) => Answer::Read(match all.get(owner.as_ref(), &id) {
                    Ok(process) => Ok(process.read(since, max).await),
                    Err(error) => Err(error),
                }),
                Operation::SendSignal(SendSignal {
                    owner,
                    id,
                    signal,
                    grace,
                }) => Answer::SendSignal(all.signal(owner.as_ref(), &id, signal, grace)),
                Operation::SendInput(SendInput {
                    owner,
                    id,
                    input,
                    key,
                }) => Answer::SendInput(all.input(owner.as_ref(), &id, input, key).await),
                Operation::End(End { owner, id }) => {
                    Answer::End(all.end(owner.as_ref(), &id).await)
                }
                Operation::Cancel(Cancel { owner, key }) => {
                    Answer::Cancel(Ok(all.cancel(owner.as_ref(), &key).await))
                }
                Operation::EndChat(EndChat { chat }) => {
                    Answer::EndChat(Ok(all.end_chat(&chat).await))
                }
                Operation::List(List {
                    owner,
                    running_only,
                    max,
                }) => Answer::List(Ok(all.list(owner.as_ref(), running_only, max))),
                Operation::ListAll(ListAll { query }) => Answer::ListAll(Ok(all.list_all(&query))),
                Operation::Observe(Observe { processes }) => {
                    Answer::Observe(all.observe(processes).await)
                }
                Operation::ListPorts(ListPorts {
                    chat,
                    process,
                    within,
                }) => Answer::ListPorts(all.list_ports(&chat, process.as_deref(), within).await),
                Operation::Restrict(Restrict { roots }) => {
                    Answer::Restrict(self.restricted(&roots).await.map(drop))
                }
                Operation::MetadataOf(MetadataOf { path }) => Answer::MetadataOf(
                    self.files(context, move |files, _| files.metadata(&path))
                        .await,
                ),
                Operation::ReadFile(ReadFile { path, offset, max }) => Answer::ReadFile(
                    self.files(context, move |files, _| files.read(&path, offset, max))
                        .await,
                ),
                Operation::SkipLines(SkipLines {
                    path,
                    offset,
                    lines,
                }) => Answer::SkipLines(
                    self.files(context, move |files, work| {
                        files.skip_lines(&path, offset, lines, work)
                    })
                    .await,
                ),
                Operation::ReadDirectory(ReadDirectory { path, after, max }) => {
                    Answer::ReadDirectory(
                        self.files(context, move |files, work| {
                            files.read_directory(&path, after.as_deref(), max, work)
                        })
                        .await,
                    )
                }
                Operation::SearchText(SearchText { scope, text, page }) => Answer::SearchText(
                    self.files(context, move |files, work| {
                        files.search(&scope, &text, page, work)
                    })
                    .await,
                ),
                Operation::FindFiles(FindFiles {
                    scope,
                    filter,
                    page,
                }) => Answer::FindFiles(
                    self.files(context, move |files, work| {
                        files.find(&scope, &filter, page, work)
                    })
                    .await,
                ),
                Operation::Resolve(Resolve { path }) => Answer::Resolve(
                    self.files(context, move |files, _| files.resolve(&path))
                        .await,
                ),
                Operation::BeginUpload(BeginUpload { upload, path, when }) => {
                    Answer::BeginUpload(self.files.begin_upload(context, upload, path, when).await)
                }
                Operation::AppendUpload(AppendUpload {
                    upload,
                    offset,
                    data,
                }) => Answer::AppendUpload(
                    self.files(context, move |files, _| {
                        files.append_upload(&upload, offset, &data)
                    })
                    .await,
                ),
                Operation::CommitUpload(CommitUpload { upload, size, .. }) => Answer::CommitUpload(
                    self.files(context, move |files, _| files.commit_upload(&upload, size))
                        .await,
                ),
                Operation::DropUpload(DropUpload { upload }) => Answer::DropUpload(
                    self.files(context, move |files, _| {
                        files.drop_upload(&upload);
                        Ok(())
                    })
                    .await,
                ),
                Operation::RemoveFile(RemoveFile {
                    path,
                    recursive,
                    when,
                }) => Answer::RemoveFile(
                    self.files(context, move |files, work| {
                        files.remove(&path, recursive, &when, work)
                    })
                    .await,
                ),
                Operation::WriteFiles(WriteFiles { writes, removals }) => {
                    let account = Arc::clone(&context.account);
                    let run = move |files: &Files, _: &Work| files.change_all(writes, removals);
                    let ran = self.files.run(account, run).await;
                    Answer::WriteFiles(ran.map_err(|error| (0, error)).flatten())
                }
            }
        })
    }

    fn connect<'a>(&'a self, chat: &'a ChatId, port: u16) -> Connecting<'a> {
        Box::pin(async move {
            let permit = Arc::clone(&self.connections).try_acquire_owned();
            let permit = permit.map_err(|_| Error::Busy(TOO_MANY.into()))?;
            let stream = self.processes.connect(chat, port).await?;
            Ok(Box::new(Held::new(stream, permit)) as Box<dyn Connection>)
        })
    }

    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        self.processes.subscribe(subscriber);
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
                connections: Arc::clone(&self.connections),
            }) as Arc<dyn Workspace>)
        })
    }

    fn end_all(&self) -> BoxFuture<'_, Vec<Info>> {
        Box::pin(self.processes.shutdown())
    }

    fn kill_now(&self) {
        self.processes.kill_now();
    }
}
