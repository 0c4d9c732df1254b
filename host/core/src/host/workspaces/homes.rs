//! Workspaces and chats that other hosts of the store know first.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolhost_call::call::WorkspaceError;
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{Home, StoreError, StoredWorkspace};

use super::entry::Entry;
use super::{Place, Workspaces, unrecorded};

/// How many chats are remembered that run here.
const MOST_SETTLED: usize = 100_000;

/// For how long they are. The store forgets where a chat runs only long after its last call.
const SETTLED: Duration = Duration::from_secs(600);

/// The longest wait for the workspace of an agent before a call begins.
const OPENING: Duration = Duration::from_secs(5);

impl Workspaces {
    /// Finds out where the calls of a chat run, which another host may know. Stores that they run here, in the default workspace, if they
    /// run nowhere yet and `is_default` says so.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::OtherHost`] if they run in the default workspace of another host.
    pub(super) async fn find_home(
        &self,
        chat: &ChatId,
        principal: &str,
        is_default: bool,
    ) -> Result<(), WorkspaceError> {
        if !self.store.is_shared()
            || self.table.lock().chats.contains_key(chat)
            || self.is_settled(chat)
        {
            return Ok(());
        }
        if self
            .learn_chat(chat)
            .await
            .map_err(|error| unrecorded(&error))?
        {
            return Ok(());
        }
        if !is_default || !self.is_local {
            return Ok(());
        }
        let home = self.store.settle(chat.clone(), principal.to_owned()).await;
        match home.map_err(|error| unrecorded(&error))? {
            Home::Here => {
                let mut settled = self.settled.lock();
                if settled.len() >= MOST_SETTLED {
                    settled.clear();
                }
                settled.insert(chat.clone(), Instant::now());
                Ok(())
            }
            Home::Elsewhere { host, address } => Err(WorkspaceError::OtherHost {
                chat: chat.clone(),
                host,
                address,
            }),
            Home::Bound => {
                let learnt = self.learn_chat(chat).await;
                learnt.map(drop).map_err(|error| unrecorded(&error))
            }
        }
    }

    fn is_settled(&self, chat: &ChatId) -> bool {
        let settled = self.settled.lock();
        settled.get(chat).is_some_and(|at| at.elapsed() < SETTLED)
    }

    /// Opens the workspace of an agent that the chat belongs to, if it is not open and could be opened the last time. Then the record of a
    /// call can say that another host may run it again. If that takes long, the call opens it.
    pub(in crate::host) async fn open_before_calls(self: &Arc<Self>, chat: &ChatId) {
        if !self.store.is_shared() {
            return;
        }
        let Some(entry) = self.named(chat) else {
            return;
        };
        if !entry.is_elsewhere() || entry.open().is_some() || entry.has_problem() {
            return;
        }
        if let Ok(used) = entry.enter() {
            let place = Place::Named(used);
            _ = tokio::time::timeout(OPENING, self.opened(&place)).await;
        }
    }

    /// Asks the store for the workspace that a chat belongs to. Returns whether it belongs to one.
    pub(in crate::host) async fn learn_chat(&self, chat: &ChatId) -> Result<bool, StoreError> {
        let Some(stored) = self.store.workspace_of(chat.clone()).await? else {
            return Ok(false);
        };
        let Some(entry) = self.put_stored(stored) else {
            return Ok(false);
        };
        let mut table = self.table.lock();
        if table
            .chats
            .insert(chat.clone(), Arc::clone(&entry))
            .is_none()
        {
            entry.add_chat();
        }
        Ok(true)
    }

    /// Asks the store for a workspace that was made, changed or removed at another host.
    pub(in crate::host) async fn learn(&self, name: &WorkspaceName) -> Result<(), StoreError> {
        if let Some(stored) = self.store.workspace(name.clone()).await? {
            self.put_stored(stored);
        }
        Ok(())
    }

    /// Asks the store for everything that other hosts may have made, changed or removed.
    pub(in crate::host) async fn learn_all(&self) -> Result<(), StoreError> {
        let all = self.store.workspaces().await?;
        for stored in all.found {
            self.put_stored(stored);
        }
        let mut table = self.table.lock();
        for binding in all.bindings {
            let entry = table.entries.get(&binding.workspace).map(Arc::clone);
            if let Some(entry) = entry
                && !table.chats.contains_key(&binding.chat)
            {
                entry.add_chat();
                table.chats.insert(binding.chat, entry);
            }
        }
        Ok(())
    }

    /// Brings the entry of a workspace up to date with the store.
    fn put_stored(&self, stored: StoredWorkspace) -> Option<Arc<Entry>> {
        let name = stored.name.clone();
        let known = self.table.lock().entries.get(&name).map(Arc::clone);
        let entry = match Entry::of_stored(stored) {
            Ok(entry) => entry,
            Err(error) => {
                tracing::error!(workspace = %name, %error, "the record of a workspace cannot be read");
                return known;
            }
        };
        let entry = match known {
            None => Arc::new(entry),
            Some(known) => {
                match (entry.is_removed(), known.is_removed()) {
                    (true, false) => known.remove(),
                    (false, _) => known.renew(entry.spec(), &entry.stored().principal),
                    (true, true) => {}
                }
                known
            }
        };
        self.table.lock().put(name, Arc::clone(&entry));
        Some(entry)
    }
}
