//! All processes of a host, by chat.

mod chats;
mod config;
mod keeper;
mod upkeep;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::contain::{self, Contained, Containment, Spawn, Spawned, Watch};
use super::pipe_reader::Room;
use super::record::Record;
use super::running::Process;
use super::{Cause, Command, Environment, Error, Info, Signal, Spawner, State, ending, lifecycle};
use crate::id::ChatId;
use chats::{Chats, Owner, Slot, refusal};
pub use config::{Config, Limits, OpenError, Records};
use keeper::Keeper;

/// How long the last output of what was ended may take to be read and recorded at shutdown.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Starts processes and remembers them, each in the scope of one chat, or of none.
#[derive(Debug)]
pub struct Registry {
    workspace: PathBuf,
    environment: Environment,
    limits: Limits,
    spawner: Option<Spawner>,
    keeper: Arc<Keeper>,
    /// Where the tasks of the processes run, whichever runtime asks for one.
    runtime: Handle,
    chats: Mutex<Chats>,
    room: Room,
    /// The lives of all processes.
    lives: TaskTracker,
    /// Ends under way, which whoever asked for them may not live to see.
    ending: TaskTracker,
    /// Takes the rest of their grace from all that are being ended, and from all that will be.
    hurry: CancellationToken,
    /// Ends the upkeep with the registry.
    _upkeep: DropGuard,
}

impl Registry {
    /// Opens a registry. One whose records are kept knows the processes of earlier ones: what ended, and how, and what was
    /// lost because the host stopped while it ran.
    ///
    /// # Errors
    ///
    /// If the records cannot be kept, or another host keeps its own in the same place.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the one that it is called in runs the tasks of all processes.
    pub fn open(config: Config) -> Result<Arc<Self>, OpenError> {
        let (keeper, recovered) = Keeper::open(config.records, config.save_limits)?;
        let mut chats = Chats::default();
        for (process, outputs) in recovered {
            chats.recover(process, outputs);
        }
        let closed = CancellationToken::new();
        let registry = Arc::new(Self {
            workspace: config.workspace,
            environment: config.environment,
            limits: config.limits,
            spawner: config.spawner,
            keeper: Arc::new(keeper),
            runtime: Handle::current(),
            chats: Mutex::new(chats),
            room: Room::new(),
            lives: TaskTracker::new(),
            ending: TaskTracker::new(),
            hurry: CancellationToken::new(),
            _upkeep: closed.clone().drop_guard(),
        });
        let upkeep = upkeep::run(Arc::downgrade(&registry));
        let upkeep = closed.clone().run_until_cancelled_owned(upkeep);
        registry.runtime.spawn(upkeep);
        if let Some(spawner) = registry.spawner.clone() {
            let replace = closed.run_until_cancelled_owned(upkeep::replace(spawner));
            registry.runtime.spawn(replace);
        }
        Ok(registry)
    }

    /// Returns the directory in which commands run by default.
    pub fn workspace(&self) -> &std::path::Path {
        &self.workspace
    }

    /// Returns how commands are held together, and why not better.
    pub fn containment(&self) -> Containment {
        Containment::of(self.spawner.as_ref())
    }

    /// Starts a command for a chat, or for none.
    ///
    /// # Errors
    ///
    /// Nothing was started if it fails: [`Error::Invalid`] or [`Error::Workdir`] for a bad command, [`Error::Limit`] if the
    /// chat has too many live processes, [`Error::KeyReused`] if another command was started with the same key,
    /// [`Error::Closed`] during shutdown, [`Error::Failed`] if the system refused.
    pub async fn start<'a>(
        self: &Arc<Self>,
        chat: impl Into<Option<&'a ChatId>>,
        command: Command,
    ) -> Result<Arc<Process>, Error> {
        command.check()?;
        let owner = chat.into().cloned();
        let Some(key) = &command.key else {
            return self.start_new(owner, command).await;
        };
        let start = self
            .chats()
            .entry(&owner, &self.keeper)
            .keyed(key, command.digest())?;
        let registry = Arc::clone(self);
        // A task of its own: a start whose caller left must still be the one that a repeat finds.
        let started = self.runtime.spawn(async move {
            let start_new = || registry.start_new(owner, command);
            start.get_or_try_init(start_new).await.cloned()
        });
        started
            .await
            .unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
    }

    async fn start_new(
        self: &Arc<Self>,
        owner: Owner,
        command: Command,
    ) -> Result<Arc<Process>, Error> {
        let slot = self.admit(owner)?;
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
        let shell = contain::find_shell(path).ok_or_else(|| {
            Error::Failed(
                "there is no shell: neither /bin/sh nor an sh in PATH can be executed".into(),
            )
        })?;
        let env = self
            .environment
            .of_command(&command.env, slot.owner.as_ref());
        let spawn = Spawn {
            shell: &shell,
            command: &command.command,
            workdir: &workdir,
            env: &env,
            stdin: command.stdin.as_deref(),
            nice: self.limits.nice,
            oom_score_adj: self.limits.oom_score_adj,
        };
        let record = Record::new(
            slot.owner.as_ref(),
            &command.command,
            &workdir,
            command.background,
        );
        let output = slot.outputs.output();
        // Known to the journal before it runs: what a crash interrupts is lost, not unknown.
        self.keeper.starting(&record, &output);
        let _runtime = self.runtime.enter();
        let spawned = contain::spawn(self.spawner.as_ref(), &spawn).and_then(receive);
        let (contained, watch, receiver) = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                self.keeper.never_started(&record.id);
                return Err(Error::Failed(contain::explain(
                    &error,
                    &spawn,
                    self.containment().kind,
                )));
            }
        };
        let process = Arc::new(Process::started(record, contained, output));
        let (keeper, room, limit) = (
            Arc::clone(&self.keeper),
            self.room.clone(),
            self.limits.output,
        );
        let life = Arc::clone(&process);
        let life = async move {
            lifecycle::supervise(Arc::clone(&life), watch, receiver, room, limit).await;
            keeper.ended(&life).await;
        };
        self.lives.spawn_on(life, &self.runtime);
        if slot.register(Arc::clone(&process)) {
            Ok(process)
        } else {
            // The registry was closed, or the chat ended, while this started.
            self.keeper.forget(&[Arc::clone(&process)]);
            let hurry = self.hurry.clone();
            let end = async move {
                ending::end(&process, Duration::ZERO, &hurry, Cause::Shutdown).await;
            };
            self.ending.spawn_on(end, &self.runtime);
            Err(Error::Closed)
        }
    }

    /// Takes a place for one more process of a chat.
    fn admit(self: &Arc<Self>, owner: Owner) -> Result<Slot, Error> {
        let mut chats = self.chats();
        if chats.closed {
            return Err(Error::Closed);
        }
        let entry = chats.entry(&owner, &self.keeper);
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
            outputs: Arc::clone(&entry.outputs),
            number: entry.number,
            owner,
            taken: true,
        })
    }

    /// Returns the process of this chat, or of no chat, that has this id.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], also for a process of another chat.
    pub fn get<'a>(
        &self,
        chat: impl Into<Option<&'a ChatId>>,
        id: &str,
    ) -> Result<Arc<Process>, Error> {
        let owner = chat.into().cloned();
        let found = self
            .chats()
            .used(&owner)
            .and_then(|chat| chat.find(id).cloned());
        found.ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Returns the process that has this id, whosoever it is: for callers that may see everything, or check by themselves.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`].
    pub fn find(&self, id: &str) -> Result<Arc<Process>, Error> {
        let chats = self.chats();
        let found = chats.by_owner.values().find_map(|chat| chat.find(id));
        found.cloned().ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Returns at most `max` processes of a chat, or of no chat, and how many there are: live ones first, then newest first.
    pub fn list<'a>(
        &self,
        chat: impl Into<Option<&'a ChatId>>,
        running_only: bool,
        max: usize,
    ) -> (Vec<Info>, usize) {
        let owner = chat.into().cloned();
        let processes = self.chats().used(&owner).map(|chat| chat.processes.clone());
        infos(&processes.unwrap_or_default(), running_only, max)
    }

    /// Returns at most `max` processes of all chats and of none, in the order of [`Registry::list`], and how many there are.
    pub fn list_all(&self, running_only: bool, max: usize) -> (Vec<Info>, usize) {
        let mut processes: Vec<_> = {
            let chats = self.chats();
            let all = chats.by_owner.values();
            all.flat_map(|chat| chat.processes.clone()).collect()
        };
        processes.sort_by_key(|process| process.record.started);
        infos(&processes, running_only, max)
    }

    /// Sends a signal to everything that a process of this chat, or of no chat, started; see [`Signal::Terminate`] for the
    /// grace, which is that of the limits if none is given.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or [`Error::Failed`] if the system refused. An ended process is no error.
    pub fn signal<'a>(
        &self,
        chat: impl Into<Option<&'a ChatId>>,
        id: &str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> Result<State, Error> {
        self.signal_process(&self.get(chat, id)?, signal, grace)
    }

    /// As [`Registry::signal`], for a process that was found before.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if the system refused.
    pub fn signal_process(
        &self,
        process: &Arc<Process>,
        signal: Signal,
        grace: Option<Duration>,
    ) -> Result<State, Error> {
        let _runtime = self.runtime.enter();
        ending::signal(process, signal, grace.unwrap_or(self.limits.grace))
    }

    /// Ends every process of a chat, or of no chat, forgets the chat, and removes what was saved of it. Returns what was
    /// still live.
    ///
    /// They are ended even if the returned future is dropped.
    pub async fn end_chat<'a>(&self, chat: impl Into<Option<&'a ChatId>>) -> Vec<Info> {
        let owner = chat.into().cloned();
        let Some(entry) = self.chats().by_owner.remove(&owner) else {
            return Vec::new();
        };
        let keeper = Arc::clone(&self.keeper);
        let (infos, ends) = self.ends(entry.processes.clone());
        let end = async move {
            ends.await;
            keeper
                .forget_chat(owner, &entry.processes, entry.outputs)
                .await;
        };
        if let Err(error) = self.ending.spawn_on(end, &self.runtime).await {
            tracing::error!(%error, "failed to end a chat");
        }
        infos
    }

    /// Refuses new processes and ends all that are live, also those of chats that are just being ended. Returns those of
    /// chats that were not. What was saved stays readable by the next host, if records are kept.
    pub async fn shutdown(&self) -> Vec<Info> {
        let processes = {
            let mut chats = self.chats();
            chats.closed = true;
            let all = chats.by_owner.drain().flat_map(|(_, chat)| chat.processes);
            all.collect()
        };
        let (infos, ends) = self.ends(processes);
        if let Err(error) = self.ending.spawn_on(ends, &self.runtime).await {
            tracing::error!(%error, "failed to end processes");
        }
        self.ending.close();
        self.ending.wait().await;
        self.lives.close();
        let lives = tokio::time::timeout(LAST_WORDS, self.lives.wait());
        if lives.await.is_err() {
            tracing::warn!("some processes could not be ended");
        }
        let keeper = Arc::clone(&self.keeper);
        let closed = self.runtime.spawn_blocking(move || keeper.close());
        if tokio::time::timeout(LAST_WORDS, closed).await.is_err() {
            tracing::warn!("the disk does not take the last of what was to be saved");
        }
        infos
    }

    /// Does now what is done every 30 s: frees, expires and forgets what ended long enough ago, and ends idle chats.
    pub async fn tidy_up(&self) {
        upkeep::look(self).await;
    }

    /// Kills what is being ended at once, without the rest of its grace.
    pub fn hurry(&self) {
        self.hurry.cancel();
    }

    /// Returns those of these that live, and what ends them.
    fn ends(&self, mut live: Vec<Arc<Process>>) -> (Vec<Info>, impl Future<Output = ()> + use<>) {
        live.retain(|process| process.state().is_live());
        let infos = live.iter().map(|process| process.info()).collect();
        let (grace, hurry) = (self.limits.grace, self.hurry.clone());
        let end = async move {
            let ends = live
                .iter()
                .map(|process| ending::end(process, grace, &hurry, Cause::Shutdown));
            join_all(ends).await;
        };
        (infos, end)
    }

    fn chats(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the output of a command readable within the runtime that this is called in.
fn receive(spawned: Spawned) -> std::io::Result<(Contained, Watch, pipe::Receiver)> {
    match pipe::Receiver::from_owned_fd(spawned.output.into()) {
        Ok(receiver) => Ok((spawned.contained, spawned.watch, receiver)),
        Err(error) => {
            spawned.contained.abandon();
            Err(error)
        }
    }
}

/// Returns what a list shows of processes that are in the order of their start.
fn infos(processes: &[Arc<Process>], running_only: bool, max: usize) -> (Vec<Info>, usize) {
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
