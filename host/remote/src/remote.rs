//! A workspace that an agent offers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use toolhost_state::id::ChatId;
use toolhost_workspace::files::{self, CpuAccount, Entry, Metadata, Skipped, Write};
use toolhost_workspace::operation::{
    Cancel, Charged, End, EndChat, Find, GetStatus, Identity, InfoOf, List, ListAll, MetadataOf,
    Observe, Open, Operation, Read, ReadDirectory, ReadFile, Resolve, Restrict, SendSignal,
    SkipLines, Start, StartedAnd, TakeSnapshot, Wait, WaitedAnd, Within, WriteFiles,
};
use toolhost_workspace::process::{
    AllQuery, Chunk, Command, Error, Info, Listed, Observation, ProcessName, Signal, Snapshot,
    Started, State, Subscriber, WaitOptions, Waited, Wake,
};
use toolhost_workspace::{Owner, Status, Workspace};

use crate::ends::Ends;
use crate::events::{Events, GONE};
use crate::link::{CallError, Done, Link};
use toolhost_state::unix_time;

/// How long the answer to the start of a foreground command waits for the end of the command.
const FOR_END: Duration = Duration::from_millis(5);

/// A workspace on another machine.
#[derive(Debug)]
pub struct Remote {
    shared: Arc<Shared>,
    /// The directories whose files may be reached; `None`: all.
    roots: Option<Vec<PathBuf>>,
}

#[derive(Debug)]
struct Shared {
    link: Arc<Link>,
    root: PathBuf,
    events: Arc<Events>,
    /// The ends of processes that came with other answers.
    ends: Ends,
    /// The task that reads the events, once there is a subscriber.
    following: OnceLock<AbortOnDropHandle<()>>,
}

impl Remote {
    /// Opens the workspace of an agent. Its subscribers must be added within a tokio runtime.
    pub(crate) async fn open(link: Link) -> Result<(Self, Identity), CallError> {
        let link = Arc::new(link);
        let identity = link.identify().await?;
        let opened = unix_time::from_ms(identity.time_unix_ms);
        let shared = Shared {
            link,
            root: identity.root.clone(),
            events: Arc::new(Events::since(opened)),
            ends: Ends::default(),
            following: OnceLock::new(),
        };
        let remote = Self {
            shared: Arc::new(shared),
            roots: None,
        };
        Ok((remote, identity))
    }

    /// Does an operation on processes.
    async fn call<T, O>(&self, owner: Owner<'_>, operation: O) -> Result<Done<T>, Error>
    where
        O: Operation<Reply = Result<T, Error>>,
    {
        let done = self.shared.link.call(&operation).await?;
        let reply = done.reply.map_err(|error| self.better(owner, error))?;
        Ok(Done {
            reply,
            events: done.events,
        })
    }

    /// As [`Self::call`], and waits for the events that the operation caused.
    async fn change<T, O>(&self, owner: Owner<'_>, operation: O) -> Result<T, Error>
    where
        O: Operation<Reply = Result<T, Error>>,
    {
        let done = self.call(owner, operation).await?;
        self.shared.events.caught_up(done.events).await;
        Ok(done.reply)
    }

    /// Does an operation on files, and charges the account.
    async fn charged<T, O>(&self, operation: O, account: &CpuAccount) -> Result<T, files::Error>
    where
        O: Operation<Reply = Charged<Result<T, files::Error>>>,
    {
        let Charged { cpu, result } = self.shared.link.call(&operation).await?.reply;
        account.add(cpu);
        result
    }

    fn within(&self, account: &CpuAccount) -> Within {
        Within {
            roots: self.roots.clone(),
            cpu: account.left(),
        }
    }

    /// Says of a process that was live that it is gone, instead of that it never was.
    fn better(&self, owner: Owner<'_>, error: Error) -> Error {
        match error {
            Error::NotFound(id) if self.shared.events.is_live(owner, &id) => {
                Error::Failed(format!("process {id:?} is lost: {GONE}"))
            }
            error => error,
        }
    }

    async fn wait_in_rounds(
        &self,
        owner: Owner<'_>,
        id: &str,
        options: WaitOptions,
    ) -> Result<Waited, Error> {
        if options.until.is_none()
            && !options.output
            && let Some(ended) = self.shared.ends.get(owner, id)
        {
            return Ok(ended.waited);
        }
        let until = Instant::now().checked_add(options.timeout);
        let round = self.shared.link.timing.round;
        loop {
            let ends = until.map_or(round, |until| {
                until.saturating_duration_since(Instant::now()).min(round)
            });
            let ends = Instant::now() + ends;
            // An attempt after a failure has the rest of the time, so that failures do not make the wait longer.
            let wait = || Wait {
                owner: owner.cloned(),
                id: id.to_owned(),
                options: WaitOptions {
                    timeout: ends.saturating_duration_since(Instant::now()),
                    ..options.clone()
                },
            };
            let done = self.shared.link.wait(wait).await?;
            let answer = done.reply.map_err(|error| self.better(owner, error))?;
            let WaitedAnd { waited, ended } = answer;
            if let Some(ended) = ended {
                self.shared.ends.add(owner, id, ended);
            }
            if waited.wake == Wake::Ended {
                self.shared.events.caught_up(done.events).await;
            }
            let is_over = until.is_some_and(|until| ends >= until);
            if waited.wake != Wake::TimedOut || is_over {
                return Ok(waited);
            }
        }
    }
}

impl Workspace for Remote {
    fn root(&self) -> &Path {
        &self.shared.root
    }

    fn status(&self) -> BoxFuture<'_, Result<Status, Error>> {
        Box::pin(async { Ok(self.call(None, GetStatus {}).await?.reply) })
    }

    fn hear_since(&self, ago: Duration) {
        self.shared.events.go_back(ago);
    }

    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        let Shared {
            link,
            events,
            following,
            ..
        } = &*self.shared;
        events.add(subscriber);
        // Not before: the first events would reach nobody.
        following.get_or_init(|| {
            let following = Events::follow(Arc::downgrade(events), Arc::clone(link));
            AbortOnDropHandle::new(tokio::spawn(following))
        });
    }

    fn start<'a>(
        &'a self,
        owner: Owner<'a>,
        command: Command,
    ) -> BoxFuture<'a, Result<Started, Error>> {
        Box::pin(async move {
            command.check()?;
            let start = Start {
                owner: owner.cloned(),
                // The caller goes on with something else.
                for_end: (!command.background).then_some(FOR_END),
                command,
            };
            let done = self.call(owner, start).await?;
            let StartedAnd { started, ended } = done.reply;
            if let Some(ended) = ended {
                self.shared.ends.add(owner, &started.id, ended);
                self.shared.events.caught_up(done.events).await;
            }
            Ok(started)
        })
    }

    fn open<'a>(
        &'a self,
        chat: &'a ChatId,
        reach: Option<&'a str>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ChatId, Error>> {
        let operation = Open {
            chat: chat.clone(),
            reach: reach.map(str::to_owned),
            id: id.to_owned(),
        };
        Box::pin(async { Ok(self.call(Some(chat), operation).await?.reply) })
    }

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ChatId>, Error>> {
        let id = id.to_owned();
        Box::pin(async { Ok(self.call(None, Find { id }).await?.reply) })
    }

    fn info<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<Info, Error>> {
        let operation = InfoOf {
            owner: owner.cloned(),
            id: id.to_owned(),
        };
        Box::pin(async move { Ok(self.call(owner, operation).await?.reply) })
    }

    fn wait<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        options: WaitOptions,
    ) -> BoxFuture<'a, Result<Waited, Error>> {
        Box::pin(self.wait_in_rounds(owner, id, options))
    }

    fn snapshot<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Snapshot, Error>> {
        let operation = TakeSnapshot {
            owner: owner.cloned(),
            id: id.to_owned(),
        };
        Box::pin(async move {
            if let Some(ended) = self.shared.ends.take(owner, id) {
                return Ok(ended.snapshot);
            }
            Ok(self.call(owner, operation).await?.reply)
        })
    }

    fn read<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        since: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Chunk, Error>> {
        let read = Read {
            owner: owner.cloned(),
            id: id.to_owned(),
            since,
            max,
        };
        Box::pin(async move { Ok(self.call(owner, read).await?.reply) })
    }

    fn signal<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        let operation = SendSignal {
            owner: owner.cloned(),
            id: id.to_owned(),
            signal,
            grace,
        };
        Box::pin(self.change(owner, operation))
    }

    fn end<'a>(&'a self, owner: Owner<'a>, id: &'a str) -> BoxFuture<'a, Result<State, Error>> {
        let operation = End {
            owner: owner.cloned(),
            id: id.to_owned(),
        };
        Box::pin(self.change(owner, operation))
    }

    fn cancel<'a>(&'a self, owner: Owner<'a>, key: &'a str) -> BoxFuture<'a, Result<usize, Error>> {
        let operation = Cancel {
            owner: owner.cloned(),
            key: key.to_owned(),
        };
        Box::pin(self.change(owner, operation))
    }

    fn list<'a>(
        &'a self,
        owner: Owner<'a>,
        running_only: bool,
        max: usize,
    ) -> BoxFuture<'a, Result<(Vec<Info>, usize), Error>> {
        let list = List {
            owner: owner.cloned(),
            running_only,
            max,
        };
        Box::pin(async move { Ok(self.call(owner, list).await?.reply) })
    }

    fn list_all(&self, query: AllQuery) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async { Ok(self.call(None, ListAll { query }).await?.reply) })
    }

    fn observe(
        &self,
        processes: Vec<ProcessName>,
    ) -> BoxFuture<'_, Result<Vec<Observation>, Error>> {
        Box::pin(async { Ok(self.call(None, Observe { processes }).await?.reply) })
    }

    fn metadata(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Metadata, files::Error>> {
        let within = self.within(&account);
        Box::pin(async move { self.charged(MetadataOf { path, within }, &account).await })
    }

    fn read_file(
        &self,
        path: String,
        offset: u64,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<files::Chunk, files::Error>> {
        let read = ReadFile {
            path,
            offset,
            max,
            within: self.within(&account),
        };
        Box::pin(async move { self.charged(read, &account).await })
    }

    fn skip_lines(
        &self,
        path: String,
        offset: u64,
        lines: u64,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Skipped, files::Error>> {
        let skip = SkipLines {
            path,
            offset,
            lines,
            within: self.within(&account),
        };
        Box::pin(async move { self.charged(skip, &account).await })
    }

    fn write_files(
        &self,
        writes: Vec<Write>,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, files::Error)>> {
        let within = self.within(&account);
        Box::pin(async move {
            let write = WriteFiles { writes, within };
            let done = self.shared.link.call(&write).await;
            let Charged { cpu, result } = done.map_err(|error| (0, error.into()))?.reply;
            account.add(cpu);
            result
        })
    }

    fn read_directory(
        &self,
        path: String,
        after: Option<String>,
        max: usize,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<(Vec<Entry>, bool), files::Error>> {
        let read = ReadDirectory {
            path,
            after,
            max,
            within: self.within(&account),
        };
        Box::pin(async move { self.charged(read, &account).await })
    }

    fn resolve(
        &self,
        path: String,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<PathBuf, files::Error>> {
        let within = self.within(&account);
        Box::pin(async move { self.charged(Resolve { path, within }, &account).await })
    }

    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, files::Error>> {
        let roots = roots.to_vec();
        Box::pin(async move {
            if self.roots.is_some() {
                let text = "a part of the workspace of an agent has no parts";
                return Err(files::Error::Invalid(text.into()));
            }
            let restrict = Restrict {
                roots: roots.clone(),
            };
            self.shared.link.call(&restrict).await?.reply?;
            let restricted = Self {
                shared: Arc::clone(&self.shared),
                roots: Some(roots),
            };
            Ok(Arc::new(restricted) as Arc<dyn Workspace>)
        })
    }

    fn end_chat<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<Info>, Error>> {
        let operation = EndChat { chat: chat.clone() };
        Box::pin(self.change(Some(chat), operation))
    }

    /// Ends nothing: the processes are the agent's, and live on.
    fn end_all(&self) -> BoxFuture<'_, Vec<Info>> {
        Box::pin(async { Vec::new() })
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unavailable(text) => Self::Unavailable(text),
            CallError::Refused(text) => Self::Failed(text),
            CallError::Unknown(text) => Self::UnknownOutcome(text),
        }
    }
}

impl From<CallError> for files::Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unavailable(text) => Self::Unavailable(text),
            CallError::Refused(text) => Self::Failed(text),
            CallError::Unknown(text) => Self::UnknownOutcome(text),
        }
    }
}
