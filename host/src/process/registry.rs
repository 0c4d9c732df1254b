//! All processes of a host, by chat.

mod chats;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::group::{Group, Spawn, find_shell};
use super::running::{Process, Progress};
use super::{Cause, Command, Environment, Error, Info, Signal, State, lifecycle};
use crate::id::ChatId;
use chats::{Chats, Slot, refusal};

/// How often ended processes are looked through.
const FORGET_EVERY: Duration = Duration::from_secs(30);

/// What a chat may use, and how long things are kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most processes of one chat that run or linger at once; 32 by default.
    pub live_per_chat: usize,
    /// The most ended processes of one chat that stay readable; 256 by default.
    pub ended_per_chat: usize,
    /// How long an ended process stays readable; 5 minutes by default.
    pub retention: Duration,
    /// The most output of one process in bytes, after which it is killed; 5 GiB by default.
    pub output: u64,
    /// What a terminated process gets before it is killed, unless the caller says otherwise; 5 s by default.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            live_per_chat: 32,
            ended_per_chat: 256,
            retention: Duration::from_secs(5 * 60),
            output: 5 << 30,
            grace: Duration::from_secs(5),
        }
    }
}

/// Starts processes and remembers them, each in the scope of one chat.
#[derive(Debug)]
pub struct Registry {
    workspace: PathBuf,
    environment: Environment,
    limits: Limits,
    /// Where the tasks of the processes run, whichever runtime asks for one.
    runtime: Handle,
    chats: Mutex<Chats>,
    /// Ends under way, which whoever asked for them may not live to see.
    ending: TaskTracker,
    /// Takes the rest of their grace from all that are being ended, and from all that will be.
    hurry: CancellationToken,
}

impl Registry {
    /// Makes a registry whose commands run in this directory, which must be absolute.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the one that it is called in runs the tasks of all processes.
    pub fn new(workspace: PathBuf, environment: Environment, limits: Limits) -> Arc<Self> {
        let chats = Mutex::new(Chats::default());
        let runtime = Handle::current();
        let registry = Arc::new(Self {
            workspace,
            environment,
            limits,
            runtime,
            chats,
            ending: TaskTracker::new(),
            hurry: CancellationToken::new(),
        });
        registry
            .runtime
            .spawn(forget_regularly(Arc::downgrade(&registry)));
        registry
    }

    /// Returns the directory in which commands run by default.
    pub fn workspace(&self) -> &std::path::Path {
        &self.workspace
    }

    /// Starts a command for a chat.
    ///
    /// # Errors
    ///
    /// Nothing was started if it fails: [`Error::Invalid`] or [`Error::Workdir`] for a bad command, [`Error::Limit`] if the
    /// chat has too many live processes, [`Error::Closed`] during shutdown, [`Error::Failed`] if the system refused.
    pub async fn start(
        self: &Arc<Self>,
        chat: &ChatId,
        command: Command,
    ) -> Result<Arc<Process>, Error> {
        command.check()?;
        let slot = self.admit(chat)?;
        let registry = Arc::clone(self);
        // Looking at directories and starting a program can block for as long as a file system likes. And a blocking task
        // runs to its end: a caller who is dropped meanwhile does not tear a start in half.
        let started = self
            .runtime
            .spawn_blocking(move || registry.spawn(slot, &command));
        started
            .await
            .unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
    }

    fn spawn(self: &Arc<Self>, mut slot: Slot, command: &Command) -> Result<Arc<Process>, Error> {
        let workdir = command.resolve_workdir(&self.workspace)?;
        let path = self.environment.get("PATH").unwrap_or_default();
        let shell = find_shell(path).ok_or_else(|| {
            Error::Failed(
                "there is no shell: neither /bin/sh nor an sh in PATH can be executed".into(),
            )
        })?;
        let env = self.environment.of_command(&command.env, &slot.chat);
        let stdin = command.stdin.as_deref();
        let spawn = Spawn {
            shell: &shell,
            command: &command.command,
            workdir: &workdir,
            env: &env,
            stdin,
        };
        let spawned = Group::spawn(&spawn).map_err(|error| Error::Failed(error.to_string()))?;
        let process = Arc::new(Process {
            id: uuid::Uuid::new_v4().to_string(),
            command: command.command.clone(),
            workdir,
            background: command.background,
            started: SystemTime::now(),
            group: spawned.group,
            progress: Mutex::new(Progress::default()),
            changed: watch::Sender::new(()),
            grown: watch::Sender::new(()),
        });
        let _runtime = self.runtime.enter();
        match pipe::Receiver::from_owned_fd(spawned.output.into()) {
            Ok(output) => {
                self.runtime.spawn(lifecycle::supervise(
                    Arc::clone(&process),
                    spawned.pidfd,
                    output,
                    self.limits.output,
                ));
            }
            Err(error) => {
                process.group.abandon();
                return Err(Error::Failed(format!("cannot read its output: {error}")));
            }
        }
        if slot.register(Arc::clone(&process)) {
            Ok(process)
        } else {
            // The registry was closed, or the chat ended, while this started.
            _ = process.send(Signal::Kill, Cause::Shutdown);
            Err(Error::Closed)
        }
    }

    /// Takes a place for one more process of a chat.
    fn admit(self: &Arc<Self>, chat: &ChatId) -> Result<Slot, Error> {
        let mut chats = self.chats();
        if chats.closed {
            return Err(Error::Closed);
        }
        let entry = chats.entry(chat);
        entry.forget(&self.limits);
        let live: Vec<_> = entry
            .processes
            .iter()
            .filter(|process| process.state().is_live())
            .collect();
        if live.len() + entry.starting >= self.limits.live_per_chat {
            return Err(Error::Limit(refusal(&live, self.limits.live_per_chat)));
        }
        entry.starting += 1;
        Ok(Slot {
            registry: Arc::clone(self),
            chat: chat.clone(),
            number: entry.number,
            taken: true,
        })
    }

    /// Returns the process of this chat that has this id.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], also for a process of another chat.
    pub fn get(&self, chat: &ChatId, id: &str) -> Result<Arc<Process>, Error> {
        let chats = self.chats();
        let mut processes = chats
            .by_id
            .get(chat)
            .into_iter()
            .flat_map(|chat| &chat.processes);
        processes
            .find(|process| process.id() == id)
            .cloned()
            .ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Returns at most `max` processes of a chat and how many there are: live ones first, then newest first.
    pub fn list(&self, chat: &ChatId, running_only: bool, max: usize) -> (Vec<Info>, usize) {
        let processes = {
            let mut chats = self.chats();
            let Some(entry) = chats.by_id.get_mut(chat) else {
                return (Vec::new(), 0);
            };
            entry.forget(&self.limits);
            entry.processes.clone()
        };
        let mut infos: Vec<_> = processes
            .iter()
            .rev()
            .map(|process| process.info())
            .collect();
        infos.retain(|info| !running_only || info.state.is_live());
        // Stable, so that the order of starts decides among equals.
        infos.sort_by_key(|info| !info.state.is_live());
        let total = infos.len();
        infos.truncate(max);
        (infos, total)
    }

    /// Sends a signal to everything that a process started; see [`Signal::Terminate`] for the grace.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or [`Error::Failed`] if the system refused. An ended process is no error.
    pub fn signal(
        &self,
        chat: &ChatId,
        id: &str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> Result<State, Error> {
        let process = self.get(chat, id)?;
        let _runtime = self.runtime.enter();
        lifecycle::signal(&process, signal, grace.unwrap_or(self.limits.grace))
    }

    /// Ends every process of a chat and forgets the chat. Returns what was still live.
    ///
    /// They are ended even if the returned future is dropped.
    pub async fn end_chat(&self, chat: &ChatId) -> Vec<Info> {
        let entry = self.chats().by_id.remove(chat);
        let processes = entry.map(|chat| chat.processes).unwrap_or_default();
        self.end_all(processes).await
    }

    /// Refuses new processes and ends all that are live, also those of chats that are just being ended. Returns those of
    /// chats that were not.
    pub async fn shutdown(&self) -> Vec<Info> {
        let processes = {
            let mut chats = self.chats();
            chats.closed = true;
            let all = chats.by_id.drain().flat_map(|(_, chat)| chat.processes);
            all.collect()
        };
        let ended = self.end_all(processes).await;
        self.ending.close();
        self.ending.wait().await;
        ended
    }

    /// Kills what is being ended at once, without the rest of its grace.
    pub fn hurry(&self) {
        self.hurry.cancel();
    }

    async fn end_all(&self, processes: Vec<Arc<Process>>) -> Vec<Info> {
        let live = processes
            .into_iter()
            .filter(|process| process.state().is_live());
        let live: Vec<_> = live.collect();
        let infos = live.iter().map(|process| process.info()).collect();
        let (grace, hurry) = (self.limits.grace, self.hurry.clone());
        let end = async move {
            let ends = live
                .iter()
                .map(|process| lifecycle::end(process, grace, &hurry, Cause::Shutdown));
            join_all(ends).await;
        };
        if let Err(error) = self.ending.spawn_on(end, &self.runtime).await {
            tracing::error!(%error, "failed to end processes");
        }
        infos
    }

    fn chats(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees what ended processes hold, also of chats that nobody asks about any more.
async fn forget_regularly(registry: Weak<Registry>) {
    loop {
        tokio::time::sleep(FORGET_EVERY).await;
        let Some(registry) = registry.upgrade() else {
            return;
        };
        let mut chats = registry.chats();
        chats.by_id.retain(|_, chat| {
            chat.forget(&registry.limits);
            chat.starting > 0 || !chat.processes.is_empty()
        });
    }
}
