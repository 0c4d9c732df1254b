//! Workspaces whose processes are those of an agent, and not of this host.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};
use toolhost_call::call::WorkspaceError;
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::process::{AllQuery, Listed, Owned, Subscriber};
use toolhost_workspace::{Owner, Workspace};

use super::entry::Entry;
use super::{Place, Workspaces};

/// The longest wait for an agent where several are asked.
pub(super) const ONE_OF_MANY: Duration = Duration::from_secs(3);

impl Workspaces {
    /// Returns whether an agent knows the processes of this chat.
    pub(in crate::host) fn is_elsewhere(&self, chat: &ChatId) -> bool {
        let table = self.table.lock();
        let entry = table.chats.get(chat);
        entry.is_some_and(|entry| entry.is_elsewhere())
    }

    /// Returns whether the owner of a process is a chat of this workspace.
    pub(super) fn is_of(&self, owner: Owner<'_>, name: &WorkspaceName) -> bool {
        let table = self.table.lock();
        let entry = owner.and_then(|chat| table.chats.get(chat));
        entry.is_some_and(|entry| entry.name == *name)
    }

    /// Returns the open workspaces of agents.
    pub(super) fn open_elsewhere(&self) -> Vec<(WorkspaceName, Arc<dyn Workspace>)> {
        let entries: Vec<_> = self.elsewhere();
        let open = entries
            .into_iter()
            .filter_map(|entry| Some((entry.name.clone(), entry.open()?)));
        open.collect()
    }

    /// Returns the workspaces of agents that were not removed.
    pub(super) fn elsewhere(&self) -> Vec<Arc<Entry>> {
        let table = self.table.lock();
        let entries = table.elsewhere.values();
        entries
            .filter(|entry| !entry.is_removed())
            .map(Arc::clone)
            .collect()
    }

    /// Lists the processes of the chats of each workspace of an agent; `None` where the agent does not answer.
    pub(super) async fn list_elsewhere(
        &self,
        query: &AllQuery,
    ) -> Vec<(WorkspaceName, Option<Listed>)> {
        let asked = self.elsewhere().into_iter().map(async |entry| {
            let name = entry.name.clone();
            let Some(workspace) = entry.open() else {
                // Nothing of it was used since the host started, or its agent did not answer then. A machine that
                // is not open can be stopped and removed.
                let is_idle = entry.has_machine() || !entry.has_problem();
                return (name, is_idle.then(Listed::default));
            };
            let listing = timeout(ONE_OF_MANY, workspace.list_all(query.clone())).await;
            let Ok(Ok(mut listed)) = listing else {
                return (name, None);
            };
            let before = listed.processes.len();
            let is_own = |one: &Owned| self.is_of(one.owner.as_ref(), &name);
            listed.processes.retain(is_own);
            let foreign = before - listed.processes.len();
            listed.total = listed.total.saturating_sub(foreign);
            (name, Some(listed))
        });
        join_all(asked).await
    }

    /// Returns how many processes live in the workspaces of agents, where some do; `None` where the agent does not answer.
    pub(super) async fn live_elsewhere(&self) -> Vec<(WorkspaceName, Option<usize>)> {
        let query = AllQuery {
            running_only: true,
            max: usize::MAX,
            ..AllQuery::default()
        };
        let listed = self.list_elsewhere(&query).await.into_iter();
        let counts = listed.map(|(name, listed)| (name, listed.map(|all| all.processes.len())));
        counts.filter(|(_, count)| *count != Some(0)).collect()
    }

    /// Returns the workspaces that have a machine of their own.
    pub(in crate::host) fn with_machines(&self) -> Vec<WorkspaceName> {
        let all = self.elsewhere().into_iter();
        let all = all.filter(|entry| entry.has_machine());
        all.map(|entry| entry.name.clone()).collect()
    }

    /// Finds out in which phase each machine is that an earlier host left.
    pub(in crate::host) async fn look_at_machines(&self) {
        for entry in self.elsewhere() {
            let spec = entry.spec();
            if let Ok(provider) = self.providers.of(&spec) {
                provider.look(&entry.name, &spec).await;
            }
        }
    }

    /// Opens the workspaces of agents that have chats, so that the events and the lists of this host have their processes.
    pub(in crate::host) fn open_all_elsewhere(self: &Arc<Self>) {
        for entry in self.elsewhere() {
            self.open_soon(&entry);
        }
    }

    /// Opens the workspaces of agents whose chats clients read at this host, each since that time, and does not wait for them. So the
    /// readers hear of processes that other hosts start there. Others may be closed again.
    pub(in crate::host) fn read(self: &Arc<Self>, chats: &HashMap<ChatId, Instant>) {
        let mut read = HashMap::new();
        for (chat, since) in chats {
            if let Some(entry) = self.named(chat) {
                let first: &mut Instant = read.entry(entry.name.clone()).or_insert(*since);
                *first = (*first).min(*since);
            }
        }
        for entry in self.elsewhere() {
            if entry.read(read.get(&entry.name).copied()) {
                self.open_soon(&entry);
            }
        }
    }

    /// Opens a workspace, and does not wait for it. A failure is logged, and shown in the list of workspaces.
    pub(super) fn open_soon(self: &Arc<Self>, entry: &Arc<Entry>) {
        let (this, entry) = (Arc::clone(self), Arc::clone(entry));
        tokio::spawn(async move {
            if let Ok(used) = entry.hold() {
                _ = this.opened(&Place::Named(used), || None).await;
            }
        });
    }

    /// Opens the workspace of an agent that knows the processes of a chat, also while it is being removed; `None` if this host knows them.
    pub(super) async fn registry_elsewhere(
        self: &Arc<Self>,
        chat: &ChatId,
    ) -> Option<Result<Arc<dyn Workspace>, WorkspaceError>> {
        let entry = self.named(chat).filter(|entry| entry.is_elsewhere())?;
        let used = match entry.hold() {
            Ok(used) => used,
            Err(error) => return Some(Err(error)),
        };
        Some(self.opened(&Place::Named(used), || None).await)
    }

    /// Sends the events of all agents to a subscriber, now and when they are opened.
    pub(super) fn subscribe_elsewhere(&self, subscriber: Weak<dyn Subscriber>) {
        self.subscribers.lock().push(subscriber);
    }
}
