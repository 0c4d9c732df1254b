//! All processes of a host, by chat.

mod adoption;
mod chats;
mod config;
mod denials;
mod ends;
mod keeper;
mod keeping;
mod observing;
mod ports;
mod recovery;
mod shortages;
mod slot;
mod starts;
mod stored;
#[cfg(test)]
mod tests;
mod upkeep;

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::confinement::Confinement;
use super::contain::Directories;
use super::counts::Counts;
use super::drawing::Turns;
use super::pipe_reader::MOST_GROWN;
use super::running::Process;
use super::subscribers::Subscribers;
use super::{
    AllQuery, Containment, Environment, Error, Info, Input, ListPlace, Listed, NO_SPAWNER, Owned,
    SaveLimits, Shell, Signal, Spawner, State, Subscriber, Totals, contain, ending, shell,
};
use adoption::{Rest, Shared};
use chats::Chats;
pub use config::{Config, Limits, OpenError};
use keeper::Keeper;
use keeping::NO_SUPERVISORS;
use toolhost_state::id::ChatId;
use toolhost_store::HostState;

/// Starts processes and remembers them, each in the scope of one chat, or of none.
#[derive(Debug)]
pub struct Registry {
    /// The workspace of starts that name no other.
    workspace: Arc<Path>,
    /// The shell of all commands; `None` if there is none.
    shell: Option<shell::Found>,
    environment: Environment,
    limits: Limits,
    confinement: Arc<Confinement>,
    spawner: Option<Spawner>,
    subscribers: Subscribers,
    save_limits: SaveLimits,
    /// How long commands are kept when this host ends; `None`: they end with it.
    keep: Option<Duration>,
    /// The processes that were taken over and do not move along yet.
    adopted: Mutex<Vec<(Arc<Process>, Rest)>>,
    /// Cancelled when this host leaves its processes to the next one.
    leaving: CancellationToken,
    keeper: Arc<Keeper>,
    /// The runtime of the tasks of all processes, whichever runtime a caller is in.
    runtime: Handle,
    chats: Mutex<Chats>,
    counts: Arc<Counts>,
    /// A permit for each pipe that may be grown.
    pipes: Arc<Semaphore>,
    /// The turns of the terminals whose screens are drawn.
    drawing: Turns,
    /// The lives of all processes, and the starts under way.
    lives: TaskTracker,
    /// Ends under way. They continue even if the caller that asked for them goes away.
    ending: TaskTracker,
    /// Removals of saved outputs, which take as long as the disk does.
    removals: TaskTracker,
    /// Cancels the grace of all processes that are being ended, now and later.
    kill_now: CancellationToken,
    /// Starts since the upkeep was last woken.
    started: AtomicUsize,
    /// Wakes the upkeep when many processes were started.
    crowded: Arc<Notify>,
    /// Ends the upkeep with the registry.
    _upkeep: DropGuard,
}

impl Registry {
    /// Opens a registry, which keeps its records in this state. It knows the processes that the state knows: which ended, and
    /// how, and which were lost because the host stopped while they ran.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, outputs cannot be saved, or there is no bash although the configuration asks for it.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: the runtime of the caller runs the tasks of all processes.
    pub async fn open(config: Config, state: &HostState) -> Result<Arc<Self>, OpenError> {
        let place = keeping::place(&config, state).await?;
        let shared = Shared {
            drawing: Arc::new(Semaphore::new(1)),
            spawner: config.spawner.clone(),
            counts: Arc::default(),
            subscribers: Subscribers::default(),
        };
        let (keeper, recovered) = Keeper::open(state, config.save_limits, place, &shared).await?;
        let rests = recovered.iter().filter_map(|found| found.rest.as_ref());
        let kept = rests.map(|rest| Arc::clone(&rest.directories)).collect();
        let (config, shell, confinement) = confine(config, state.clone(), kept).await?;
        let mut chats = Chats::default();
        let mut adopted = Vec::new();
        for found in recovered {
            adopted.extend(chats.recover(found.process, found.outputs, found.rest));
        }
        let closed = CancellationToken::new();
        let registry = Arc::new(Self {
            workspace: config.workspace.into(),
            shell,
            environment: config.environment,
            limits: config.limits,
            confinement: Arc::new(confinement),
            spawner: config.spawner,
            subscribers: shared.subscribers,
            save_limits: config.save_limits,
            keep: config.keep,
            adopted: Mutex::new(adopted),
            leaving: CancellationToken::new(),
            keeper: Arc::new(keeper),
            runtime: Handle::current(),
            chats: Mutex::new(chats),
            counts: shared.counts,
            pipes: Arc::new(Semaphore::new(MOST_GROWN)),
            drawing: shared.drawing,
            lives: TaskTracker::new(),
            ending: TaskTracker::new(),
            removals: TaskTracker::new(),
            kill_now: CancellationToken::new(),
            started: AtomicUsize::new(0),
            crowded: Arc::default(),
            _upkeep: closed.clone().drop_guard(),
        });
        let observer: Weak<Self> = Arc::downgrade(&registry);
        registry.confinement.observe(observer);
        let upkeep = Self::keep_up(Arc::downgrade(&registry), Arc::clone(&registry.crowded));
        let upkeep = closed.clone().run_until_cancelled_owned(upkeep);
        registry.runtime.spawn(upkeep);
        if let Some(spawner) = registry.spawner.clone() {
            let replace = closed.run_until_cancelled_owned(spawner.keep_running());
            registry.runtime.spawn(replace);
        }
        Ok(registry)
    }

    /// Returns the workspace of starts that name no other.
    pub(crate) fn workspace(&self) -> &Arc<Path> {
        &self.workspace
    }

    /// Keeps the homes of the workspaces in this root there, in [`homes_in_root`](super::homes_in_root). Blocks on the disk.
    pub(crate) fn keep_homes_in(&self, root: &Path) {
        self.confinement.keep_homes_in(root);
    }

    /// Returns the shell that runs commands.
    pub fn shell(&self) -> Shell {
        self.shell.as_ref().map_or(Shell::Sh, |found| found.shell)
    }

    /// Returns whether a sandbox filters the system calls of all commands.
    pub(crate) fn filters_calls(&self) -> bool {
        self.confinement.filters_calls()
    }

    /// Returns how commands are held together, and why not by a better means.
    pub fn containment(&self) -> Containment {
        contain::containment(self.spawner.as_ref())
    }

    /// Sends this subscriber all events of processes from now on, until it is dropped.
    pub fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        self.subscribers.add(subscriber);
        self.resume_adopted();
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

    /// Returns the process that has this id, of any chat: for callers that may see everything, or check the chat themselves.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`].
    pub fn find(&self, id: &str) -> Result<Arc<Process>, Error> {
        let mut chats = self.chats();
        let found = chats.by_owner.values_mut().find_map(|chat| {
            let process = Arc::clone(chat.find(id)?);
            chat.use_now();
            Some(process)
        });
        found.ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Returns at most `max` processes of a chat, or of no chat, and how many there are: running ones first, then lingering
    /// ones, then ended ones, each newest first.
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

    /// Returns a page of the processes of all chats and of none, in the order of [`Registry::list`]. It counts as a use of the processes of
    /// no chat only.
    pub fn list_all(&self, query: &AllQuery) -> Listed {
        let processes: Vec<_> = {
            let mut chats = self.chats();
            // A caller that names no chat sees all processes, and owns those of no chat.
            chats.used(&None);
            let begins = |chat: &ChatId| chat.as_str().starts_with(&query.prefix);
            let all = chats.by_owner.iter().filter(|(owner, _)| match owner {
                Some(chat) => begins(chat),
                None => query.prefix.is_empty(),
            });
            all.flat_map(|(_, chat)| chat.processes.clone()).collect()
        };
        let mut places: Vec<_> = processes
            .iter()
            .map(|process| (process.state(), process))
            .filter(|(state, _)| !query.running_only || state.is_live())
            .map(|(state, process)| {
                let record = &process.record;
                (ListPlace::new(&state, record.started, &record.id), process)
            })
            .collect();
        let total = places.len();
        places.sort_by(|(one, _), (other, _)| one.cmp(other));
        let rest = places
            .iter()
            .filter(|(place, _)| query.after.as_ref().is_none_or(|after| place > after));
        let page = rest.take(query.max).map(|(_, process)| Owned {
            owner: process.record.chat.clone(),
            info: process.info(),
        });
        Listed {
            processes: page.collect(),
            total,
            unanswered: Vec::new(),
        }
    }

    /// Returns how many processes run or linger, of all chats and of none. It counts as a use of no chat.
    pub fn live(&self) -> usize {
        let chats = self.chats();
        let all = chats.by_owner.values().flat_map(|chat| &chat.processes);
        all.filter(|process| process.state().is_live()).count()
    }

    /// Returns the totals over all processes that this registry started. It counts as a use of no chat.
    pub fn totals(&self) -> Totals {
        Totals {
            saved: self.keeper.outputs.bytes(),
            live: self.live() as u64,
            ..self.counts.totals()
        }
    }

    /// Sends a signal to everything that a process of this chat, or of no chat, started. For the grace, see
    /// [`Signal::Terminate`]. If none is given, the grace of the limits applies.
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
        let process = self.get(chat, id)?;
        let _runtime = self.runtime.enter();
        ending::signal(&process, signal, grace.unwrap_or(self.limits.grace))
    }

    /// Writes to the standard input of a process of this chat, or of no chat: see [`Process::input`].
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], and those of [`Process::input`].
    pub async fn input<'a>(
        &self,
        chat: impl Into<Option<&'a ChatId>>,
        id: &str,
        input: Input,
        key: Option<String>,
    ) -> Result<State, Error> {
        let process = self.get(chat, id)?;
        // In a task of its own: a caller that is dropped meanwhile leaves no half of an input.
        let typing = async move { process.input(input, key).await };
        let typed = self.runtime.spawn(typing).await;
        typed.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
    }

    /// Kills the processes that are being ended at once, without the rest of their grace.
    pub fn kill_now(&self) {
        self.kill_now.cancel();
    }

    fn chats(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock()
    }

    /// Returns the chats, or an error if the registry is closed.
    fn open_chats(&self) -> Result<MutexGuard<'_, Chats>, Error> {
        let chats = self.chats();
        if chats.closed {
            return Err(Error::Closed);
        }
        Ok(chats)
    }
}

/// Opens the confinement of a configuration, on a thread for blocking work: it looks at hundreds of files, and tries the namespaces.
async fn confine(
    config: Config,
    state: HostState,
    kept: Vec<Arc<Directories>>,
) -> Result<(Config, Option<shell::Found>, Confinement), OpenError> {
    let opening = tokio::task::spawn_blocking(move || {
        let mut config = config;
        let search = config.environment.get("PATH").unwrap_or_default();
        let shell = shell::find(config.shell, search);
        if shell.is_none() && config.shell == Some(Shell::Bash) {
            return Err(OpenError::NoBash);
        }
        if let Some(spawner) = &config.spawner
            && let Err(error) = spawner.wait_until_ready()
        {
            tracing::warn!(%error, "{NO_SPAWNER}");
            config.spawner = None;
        }
        if config.keep.is_some() {
            let keeping = config.spawner.as_ref().map(Spawner::keep);
            let keeping = keeping.unwrap_or_else(|| Err(std::io::Error::other(NO_SUPERVISORS)));
            keeping.map_err(|error| OpenError::Keep(error.to_string()))?;
        }
        let confinement = Confinement::open(
            config.sandbox.clone(),
            &config.closed,
            &config.workspace,
            &config.environment,
            &state,
            config.spawner.as_ref(),
            &kept,
        )?;
        Ok((config, shell, confinement))
    });
    let opened = opening.await;
    opened.unwrap_or_else(|error| Err(OpenError::Failed(error.to_string())))
}

/// Returns the list entries of processes that are in the order of their start.
fn infos(processes: &[Arc<Process>], running_only: bool, max: usize) -> (Vec<Info>, usize) {
    let mut infos: Vec<_> = processes
        .iter()
        .rev()
        .map(|process| process.info())
        .collect();
    infos.retain(|info| !running_only || info.state.is_live());
    // A stable sort, so that the order of starts decides among equals.
    infos.sort_by_key(|info| match info.state {
        State::Running => 0,
        State::Lingering(_) => 1,
        State::Exited(_) | State::Lost(_) => 2,
    });
    let total = infos.len();
    infos.truncate(max);
    (infos, total)
}
