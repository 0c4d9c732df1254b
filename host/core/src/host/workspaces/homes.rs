//! Workspaces and chats that other hosts of the store know first.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolhost_call::call::{Actor, WorkspaceError};
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::{AgentElsewhere, Home, StoreError, StoredWorkspace};
use toolhost_workspace::{AgentSpec, Spec};

use super::entry::Entry;
use super::{Place, Workspaces, unrecorded};
use crate::host::Host;

/// How many chats are remembered that run here.
const MOST_SETTLED: usize = 100_000;

/// For how long they are. The store forgets where a chat runs only long after its last call.
const SETTLED: Duration = Duration::from_secs(600);

/// The longest wait for the workspace of an agent before a call begins.
const OPENING: Duration = Duration::from_secs(5);

/// Where the workspace of a chat is, if no other host has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Located {
    /// At this host, or at an agent that every host reaches.
    Here,
    /// Nowhere yet: the first call of the chat decides.
    Unsettled,
}

impl Host {
    /// Finds out whether another host has the workspace of a chat. `named` is the workspace that the first call of the chat is to bind it
    /// to. Stores nothing.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::OtherHost`] or [`WorkspaceError::AgentElsewhere`], if another host has it, and [`WorkspaceError::Unrecorded`] if
    /// the store cannot be asked.
    pub async fn locate(
        &self,
        chat: &ChatId,
        named: Option<&WorkspaceName>,
    ) -> Result<Located, WorkspaceError> {
        self.inner.workspaces.located(chat, named).await
    }

    /// Frees a chat from the host in whose default workspace its calls ran, if that host has lost its lease. The next call of the chat
    /// decides where it runs. An actor that is bound to some tools frees no chat. Returns the name of that host; `None` if the chat was not
    /// freed.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::Unrecorded`] if the store cannot be asked.
    pub async fn free_chat(
        &self,
        chat: &ChatId,
        actor: &Actor,
    ) -> Result<Option<String>, WorkspaceError> {
        if !actor.may_use_all() {
            return Ok(None);
        }
        let freed = self.inner.ledger.store().free(chat.clone()).await;
        let freed = freed.map_err(|error| unrecorded(&error))?;
        if let Some(host) = &freed {
            let fields =
                json!({ "principal": actor.name(), "chat": chat.as_str(), "host": host.name });
            self.inner.audit.record("chat_freed", fields);
        }
        Ok(freed.map(|host| host.name))
    }
}

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
                self.remember_settled(chat);
                Ok(())
            }
            Home::Elsewhere(host) => Err(WorkspaceError::OtherHost {
                chat: chat.clone(),
                host,
            }),
            Home::Bound => {
                let learnt = self.learn_chat(chat).await;
                learnt.map(drop).map_err(|error| unrecorded(&error))
            }
        }
    }

    /// Forgets which chats run here. Other hosts may have freed some of them while this one had no lease.
    pub(in crate::host) fn forget_settled(&self) {
        self.settled.lock().clear();
    }

    fn is_settled(&self, chat: &ChatId) -> bool {
        let settled = self.settled.lock();
        settled.get(chat).is_some_and(|at| at.elapsed() < SETTLED)
    }

    fn remember_settled(&self, chat: &ChatId) {
        let mut settled = self.settled.lock();
        if settled.len() >= MOST_SETTLED {
            settled.clear();
        }
        settled.insert(chat.clone(), Instant::now());
    }

    /// Finds out whether another host has the workspace of a chat, or of its first call if that names one. Stores nothing.
    async fn located(
        &self,
        chat: &ChatId,
        named: Option<&WorkspaceName>,
    ) -> Result<Located, WorkspaceError> {
        if !self.store.is_shared() {
            return Ok(Located::Here);
        }
        if self.named(chat).is_none() {
            if self.is_settled(chat) {
                return Ok(Located::Here);
            }
            let home = match self.is_local {
                true => self.store.home_of(chat.clone()).await,
                false => Ok(None),
            };
            match home.map_err(|error| unrecorded(&error))? {
                Some(Home::Here) => {
                    self.remember_settled(chat);
                    return Ok(Located::Here);
                }
                Some(Home::Elsewhere(host)) => {
                    let chat = chat.clone();
                    return Err(WorkspaceError::OtherHost { chat, host });
                }
                Some(Home::Bound) | None => {
                    let learnt = self.learn_chat(chat).await;
                    learnt.map_err(|error| unrecorded(&error))?;
                }
            }
        }
        if let Some(entry) = self.named(chat) {
            self.check_agent(&entry).await?;
            return Ok(Located::Here);
        }
        let Some(name) = named.filter(|name| !name.is_default()) else {
            return Ok(Located::Unsettled);
        };
        let entry = self.table.lock().entries.get(name).map(Arc::clone);
        let entry = entry.filter(|entry| !entry.is_removed());
        let spec = entry.map(|entry| entry.spec());
        let spec = spec.unwrap_or_else(|| Spec::Agent(AgentSpec::default()));
        self.check_agent_of(name, &spec).await?;
        Ok(Located::Unsettled)
    }

    /// Checks that the agent of a workspace is connected to no other host.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::AgentElsewhere`], if it is.
    pub(super) async fn check_agent(&self, entry: &Entry) -> Result<(), WorkspaceError> {
        match entry.is_removed() {
            true => Ok(()),
            false => self.check_agent_of(&entry.name, &entry.spec()).await,
        }
    }

    async fn check_agent_of(
        &self,
        name: &WorkspaceName,
        spec: &Spec,
    ) -> Result<(), WorkspaceError> {
        if !self.store.is_shared() {
            return Ok(());
        }
        let provider = self.providers.of(spec).ok();
        let Some(agent) = provider.and_then(|provider| provider.awaits(name, spec)) else {
            return Ok(());
        };
        let host = self.store.host_of_agent(agent.clone()).await;
        match host.map_err(|error| unrecorded(&error))? {
            Some(AgentElsewhere { host, .. }) => {
                Err(WorkspaceError::AgentElsewhere { agent, host })
            }
            None => Ok(()),
        }
    }

    /// Returns the specification that a workspace has if none is given. An agent may have its name that is connected to another host.
    pub(super) async fn default_spec(&self, name: &WorkspaceName) -> Result<Spec, WorkspaceError> {
        let agent = Spec::Agent(AgentSpec::default());
        match self.check_agent_of(name, &agent).await {
            Err(WorkspaceError::AgentElsewhere { .. }) => Ok(agent),
            Err(error) => Err(error),
            Ok(()) => Ok(self.providers.default_spec(name)),
        }
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
            _ = tokio::time::timeout(OPENING, self.opened(&place, || None)).await;
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
