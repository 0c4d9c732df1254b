//! The records that outlive a process: its saved output, and its row in the store, by which a later host knows of it.

use std::sync::Arc;

use tokio::time::timeout;
use toolhost_store::{
    Answer, Backlog, HostState, LocalStore, Process as StoredProcess, ProcessQuery,
};

use super::OpenError;
use super::adoption::{Kept, Shared};
use super::chats::Old;
use super::ends::LAST_WORDS;
use super::recovery::{Found, Recovered, recover};
use super::stored;
use crate::process::contain::Place;
use crate::process::record::Record;
use crate::process::running::Process;
use crate::process::saved::{ChatOutputs, OutputStore, SaveLimits, SavedOutput};

/// The saved outputs, and the store of processes.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) outputs: Arc<OutputStore>,
    store: Arc<dyn LocalStore>,
    /// Changes that could not be stored.
    unwritten: Backlog<Change>,
    /// The files of kept processes; `None` if there are none.
    pub(super) place: Option<Arc<Place>>,
}

/// A change of the stored processes.
#[derive(Clone, Debug)]
enum Change {
    Starting(Box<StoredProcess>),
    Changed(Vec<StoredProcess>),
    Forgotten(Vec<String>),
}

impl Change {
    /// Returns the ids of its processes.
    fn ids(&self) -> Vec<&str> {
        match self {
            Self::Starting(process) => vec![&process.id],
            Self::Changed(processes) => processes.iter().map(|process| &*process.id).collect(),
            Self::Forgotten(ids) => ids.iter().map(String::as_str).collect(),
        }
    }
}

impl toolhost_store::Change for Change {
    type Store = dyn LocalStore;

    fn is_of_same(&self, other: &Self) -> bool {
        let ids = other.ids();
        self.ids().iter().any(|id| ids.contains(id))
    }

    fn store(self, store: &dyn LocalStore) -> Answer<'_, ()> {
        match self {
            Self::Starting(process) => store.add_process(*process),
            Self::Changed(processes) => store.update_processes(processes),
            Self::Forgotten(ids) => store.forget_processes(ids),
        }
    }

    fn bytes(&self) -> usize {
        let of = |process: &StoredProcess| process.command.len() + process.workdir.len();
        match self {
            Self::Starting(process) => of(process),
            Self::Changed(processes) => processes.iter().map(of).sum(),
            Self::Forgotten(_) => 0,
        }
    }
}

impl Keeper {
    /// Opens the records and returns the processes in them, in the order of starts.
    pub(super) async fn open(
        state: &HostState,
        limits: SaveLimits,
        place: Option<Arc<Place>>,
        shared: &Shared,
    ) -> Result<(Self, Vec<Found>), OpenError> {
        let outputs = OutputStore::new(state.outputs(), limits).map_err(OpenError::Saved)?;
        let keeper = Self {
            outputs,
            store: Arc::clone(state.local()),
            unwritten: Backlog::default(),
            place,
        };
        let known = keeper.store.processes(ProcessQuery::all()).await?;
        let may_lack_some = keeper.store.may_lack_processes();
        let kept = Kept::find(keeper.place.as_deref(), shared, &known.found).await;
        let kept = kept.map_err(OpenError::TakeOver)?;
        let Recovered { found, changed } =
            recover(&keeper.outputs, known, kept, may_lack_some).await;
        let ended: Vec<_> = changed.iter().map(|process| process.id.clone()).collect();
        keeper.change(Change::Changed(changed)).await;
        if let Some(place) = &keeper.place {
            ended.iter().for_each(|id| place.remove(id));
        }
        Ok((keeper, found))
    }

    /// Waits until everything is saved, or removes it if it ends with the host.
    pub(super) async fn close(self: Arc<Self>) {
        self.catch_up().await;
        let outputs = Arc::clone(&self.outputs);
        let closing = tokio::task::spawn_blocking(move || {
            outputs.flush();
            outputs.remove_temporary();
        });
        if let Err(error) = closing.await {
            tracing::error!(%error, "failed to close the saved outputs");
        }
    }

    /// Stores a process that is about to start.
    pub(super) async fn starting(&self, record: &Record, output: &SavedOutput) {
        let process = stored::starting(record, output);
        self.change(Change::Starting(Box::new(process))).await;
    }

    /// Stores how the shell ended if other processes of it still run.
    pub(super) async fn lingers(&self, process: &Process) {
        let process = stored::current(process);
        self.change(Change::Changed(vec![process])).await;
    }

    /// Closes the saved output of a process, and stores how it ended.
    pub(super) async fn ended(&self, process: &Process) {
        process.saved.close();
        // Wait for the output first: otherwise a crash in between would leave less output than the store says.
        process.saved.settled_soon(u64::MAX).await;
        let changed = stored::current(process);
        self.change(Change::Changed(vec![changed])).await;
        // Only now: if the host is killed before, the next one finds the end in these files.
        self.leave_nothing(process.id()).await;
    }

    /// Removes the files of a process that may have been kept.
    pub(super) async fn leave_nothing(&self, id: &str) {
        let Some(place) = &self.place else {
            return;
        };
        let (place, id) = (Arc::clone(place), id.to_owned());
        let removal = tokio::task::spawn_blocking(move || place.remove(&id));
        if let Err(error) = removal.await {
            tracing::error!(%error, "failed to remove the files of a kept process");
        }
    }

    /// Forgets a process that was not started after all.
    pub(super) async fn withdraw(&self, id: String) {
        self.leave_nothing(&id).await;
        self.change(Change::Forgotten(vec![id])).await;
    }

    /// Forgets processes. Their outputs stay.
    pub(super) async fn forget(&self, processes: &[Arc<Process>]) {
        let ids = processes.iter().map(|process| process.id().to_owned());
        self.change(Change::Forgotten(ids.collect())).await;
    }

    /// Removes the saved outputs of old processes, whose states stay known, and forgets still older ones.
    pub(super) async fn remove(&self, old: &[Old]) {
        let expired = || old.iter().flat_map(|old| &old.expired);
        let forgotten = || old.iter().flat_map(|old| &old.forgotten);
        expired()
            .chain(forgotten())
            .for_each(|process| process.saved.remove());
        let changed = expired().map(|process| stored::current(process));
        self.change(Change::Changed(changed.collect())).await;
        let ids = forgotten().map(|process| process.id().to_owned());
        self.change(Change::Forgotten(ids.collect())).await;
    }

    /// Removes the saved outputs of a chat that has ended. If the disk hangs, the removal goes on without a wait.
    pub(super) async fn remove_chat(&self, outputs: Arc<ChatOutputs>, processes: &[Arc<Process>]) {
        // Outputs of an earlier host may be in another directory.
        processes.iter().for_each(|process| process.saved.remove());
        let removal = tokio::task::spawn_blocking(move || outputs.remove());
        match timeout(LAST_WORDS, removal).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => {
                tracing::warn!(%error, "the saved outputs of a chat could not be removed")
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "failed to remove the saved outputs of a chat")
            }
            Err(_) => {
                tracing::warn!("the disk hangs: the saved outputs of a chat are removed later")
            }
        }
    }

    /// Stores the changes that could not be stored before, as far as possible.
    pub(super) async fn catch_up(&self) {
        if let Err(error) = self.unwritten.catch_up(&*self.store).await {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "the store still takes no changes of processes");
        }
    }

    async fn change(&self, change: Change) {
        let is_empty = match &change {
            Change::Starting(_) => false,
            Change::Changed(processes) => processes.is_empty(),
            Change::Forgotten(ids) => ids.is_empty(),
        };
        if !is_empty {
            self.unwritten.store(&*self.store, change).await;
        }
    }
}
