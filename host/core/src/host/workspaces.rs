//! The workspaces of a host: the default one, which is open from the start, and those with names, each of which a provider makes and opens
//! when a call needs it.
//!
//! The table knows the workspace of every chat, so that a call looks up no more than one key. Locks are taken in the order ledger, table,
//! entry: the ledger asks for the workspace of a new call while it is locked.

mod binding;
mod elsewhere;
mod entry;
mod homes;
mod machines;
mod making;
mod managing;
mod of_one;
mod providers;
mod routed;
#[cfg(test)]
mod tests;
mod upkeep;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolhost_call::call::WorkspaceError;
use toolhost_call::metrics::{Levels, MOST_WORKSPACES as MOST_WORKSPACES_SHOWN};
use toolhost_state::id::ChatId;
use toolhost_state::turns::Turns;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{Store, StoreError};
use toolhost_workspace::process::Subscriber;
use toolhost_workspace::{NamedCounts, ProviderError, Workspace};

use entry::Entry;
pub(super) use entry::InUse;
pub use homes::Located;
pub use machines::TemplateUse;
pub(super) use making::{Need, Oversight};
pub use managing::{Removal, RemovedWorkspace, WorkspaceInfo, WorkspaceState};
pub(super) use providers::Providers;
pub(super) use routed::Routed;
pub(super) use upkeep::keep_up;

/// The most workspaces of a host.
const MOST_WORKSPACES: usize = 100_000;

/// The most chats that are bound to workspaces. Each takes about 150 bytes of memory.
const MOST_CHATS: usize = 1_000_000;

/// The workspaces of a host.
#[derive(Debug)]
pub(super) struct Workspaces {
    default: Arc<dyn Workspace>,
    providers: Providers,
    store: Arc<dyn Store>,
    oversight: Oversight,
    /// The subscribers of the events of agents.
    subscribers: Mutex<Vec<Weak<dyn Subscriber>>>,
    table: Mutex<Table>,
    /// Notified when a chat is not being bound any more.
    bound: Notify,
    /// Whether the default workspace is on this machine, so that its chats run at no other host.
    is_local: bool,
    /// Chats that run in the default workspace of this host, as far as the store was asked.
    settled: Mutex<HashMap<ChatId, Instant>>,
    /// Each workspace is made, changed or removed by one task at a time.
    turns: Turns<WorkspaceName>,
}

/// The workspaces by their names, and the chats that belong to them.
#[derive(Debug, Default)]
struct Table {
    /// Also those that were removed: their chats run nowhere else.
    entries: BTreeMap<WorkspaceName, Arc<Entry>>,
    /// Those of agents.
    elsewhere: BTreeMap<WorkspaceName, Arc<Entry>>,
    chats: HashMap<ChatId, Arc<Entry>>,
    /// The chats for which it is being found out whether a call of them ran already. No call of theirs begins meanwhile.
    binding: HashSet<ChatId>,
}

/// Where a call runs.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In the workspace that the host opened at its start.
    Default,
    /// In a workspace with a name.
    Named(InUse),
}

impl Place {
    /// Returns whether a start with a key runs once in this place, also if host and workspace are started anew in between. A workspace that
    /// is not open yet is not known to do so.
    pub(super) fn remembers_starts(&self) -> bool {
        match self {
            Self::Default => false,
            Self::Named(used) => used.remembers_starts(),
        }
    }
}

impl Table {
    /// Adds a workspace, or notes that its specification has changed.
    fn put(&mut self, name: WorkspaceName, entry: Arc<Entry>) {
        match entry.is_elsewhere() {
            true => _ = self.elsewhere.insert(name.clone(), Arc::clone(&entry)),
            false => _ = self.elsewhere.remove(&name),
        }
        self.entries.insert(name, entry);
    }
}

impl Workspaces {
    /// Reads the workspaces and their chats from the store.
    pub(super) async fn open(
        default: Arc<dyn Workspace>,
        is_local: bool,
        providers: Providers,
        store: Arc<dyn Store>,
        oversight: Oversight,
    ) -> Result<Self, StoreError> {
        let stored = store.workspaces().await?;
        if stored.damaged > 0 {
            tracing::error!(
                damaged = stored.damaged,
                "records of workspaces are damaged: these workspaces, or the chats that belong to them, are not known any more"
            );
        }
        let mut table = Table::default();
        for workspace in stored.found {
            let name = workspace.name.clone();
            match Entry::of_stored(workspace) {
                Ok(entry) => table.put(name, Arc::new(entry)),
                Err(error) => {
                    tracing::error!(workspace = %name, %error, "the record of a workspace cannot be read");
                }
            }
        }
        for binding in stored.bindings {
            if let Some(entry) = table.entries.get(&binding.workspace) {
                entry.add_chat();
                table.chats.insert(binding.chat, Arc::clone(entry));
            }
        }
        Ok(Self {
            default,
            providers,
            store,
            oversight,
            subscribers: Mutex::default(),
            table: Mutex::new(table),
            bound: Notify::new(),
            is_local,
            settled: Mutex::default(),
            turns: Turns::default(),
        })
    }

    /// Returns the name of the workspace that a chat belongs to.
    pub(super) fn of_chat(&self, chat: &ChatId) -> WorkspaceName {
        self.named(chat)
            .map_or_else(WorkspaceName::of_default, |entry| entry.name.clone())
    }

    /// Returns whether the workspace of a chat was removed, with everything that ran there.
    pub(super) fn is_removed(&self, chat: &ChatId) -> bool {
        self.named(chat).is_some_and(|entry| entry.is_removed())
    }

    /// Returns the workspace with a name that a chat belongs to.
    fn named(&self, chat: &ChatId) -> Option<Arc<Entry>> {
        self.table.lock().chats.get(chat).map(Arc::clone)
    }

    /// Returns where a call of this chat runs. The workspace counts as used for as long as the result is there.
    pub(super) fn place(&self, chat: &ChatId) -> Result<Place, WorkspaceError> {
        let table = self.table.lock();
        match table.chats.get(chat) {
            Some(entry) => Ok(Place::Named(entry.enter()?)),
            None if table.binding.contains(chat) => {
                Err(WorkspaceError::Changing(WorkspaceName::of_default()))
            }
            None => Ok(Place::Default),
        }
    }

    /// Returns the audit trail and the approval hook for the workspaces that are made.
    pub(super) fn oversight(&self) -> &Oversight {
        &self.oversight
    }

    /// Opens a workspace unless it is open. `need` returns the reason to make its files, if there are none yet. If the caller drops the
    /// future, a question to the approval hook is dropped, and work that has begun goes on.
    pub(super) async fn opened(
        self: &Arc<Self>,
        place: &Place,
        need: impl FnOnce() -> Option<Need>,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let Place::Named(used) = place else {
            return Ok(Arc::clone(&self.default));
        };
        let open = used.open();
        if let Some(open) = open.as_ref().filter(|_| !used.has_machine()) {
            return Ok(Arc::clone(open));
        }
        let (used, spec) = (used.clone(), used.spec());
        let provider = self.providers.of(&spec)?;
        if let Some(open) = open.filter(|_| provider.is_usable(used.name(), &spec)) {
            return Ok(open);
        }
        let provider = Arc::clone(provider);
        let this = Arc::clone(self);
        let name = used.name().clone();
        let need = need();
        let _over = need.as_ref().map(|need| need.over.clone().drop_guard());
        let opening = async move { used.open_with(&*provider, &this, need).await };
        let opened = tokio::spawn(opening).await;
        opened
            .unwrap_or_else(|error| Err(ProviderError::Failed(error.to_string())))
            .map_err(|error| match error {
                ProviderError::NotApproved(reason) => WorkspaceError::NotApproved { name, reason },
                ProviderError::Unreachable(reason) => WorkspaceError::Unreachable(reason),
                ProviderError::Stopped => WorkspaceError::Stopped(name),
                other => WorkspaceError::WorkspaceFailed {
                    name,
                    reason: other.to_string(),
                },
            })
    }

    /// Returns how many workspaces with names there are, and in which states.
    pub(super) fn counts(&self) -> NamedCounts {
        let table = self.table.lock();
        let mut counts = NamedCounts::default();
        for entry in table.entries.values().filter(|entry| !entry.is_removed()) {
            let facts = entry.facts();
            counts.known += 1;
            counts.open += u64::from(facts.is_open);
            counts.failed += u64::from(facts.problem.is_some());
        }
        counts
    }

    /// Adds the levels of the workspaces with names.
    pub(super) fn add_levels(&self, levels: &mut Levels) {
        let counts = self.counts();
        levels.workspaces += counts.known;
        levels.workspaces_open += counts.open;
        levels.workspaces_failed += counts.failed;
        let mut busy: Vec<_> = {
            let table = self.table.lock();
            levels.workspace_chats += table.chats.len() as u64;
            let busy = table.entries.values();
            let busy = busy.map(|entry| (entry.facts().calls as u64, entry.name.to_string()));
            busy.filter(|(calls, _)| *calls > 0).collect()
        };
        // The busiest have a label, so that their number is bounded.
        busy.sort_by(|one, other| other.cmp(one));
        for (calls, name) in busy.into_iter().take(MOST_WORKSPACES_SHOWN) {
            *levels.workspace_calls.entry(name).or_default() += calls;
        }
    }
}

fn unrecorded(error: &StoreError) -> WorkspaceError {
    WorkspaceError::Unrecorded(error.to_string())
}
