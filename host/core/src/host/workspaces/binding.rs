//! Which workspace a chat belongs to. A chat belongs to one from its first call on.

use std::sync::Arc;

use toolhost_call::call::{Actor, CallQuery, Reach, Request, WorkspaceError};
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::Binding;

use super::{MOST_CHATS, Workspaces, unrecorded};
use crate::host::Host;

/// A chat that is being bound. Its calls begin again, and other changes go on, when this is dropped.
struct ChatBeingBound<'a> {
    workspaces: &'a Workspaces,
    chat: &'a ChatId,
}

impl Drop for ChatBeingBound<'_> {
    fn drop(&mut self) {
        self.workspaces.table.lock().binding.remove(self.chat);
        self.workspaces.bound.notify_waiters();
    }
}

impl Workspaces {
    /// Decides where a chat runs before something of it changes that is no call.
    pub(in crate::host) async fn settle(
        &self,
        chat: &ChatId,
        principal: &str,
    ) -> Result<(), WorkspaceError> {
        self.until_bound(chat).await;
        self.find_home(chat, principal, true).await?;
        match self.named(chat) {
            Some(entry) => self.check_agent(&entry).await,
            None => Ok(()),
        }
    }

    /// Waits until the chat is not being bound.
    async fn until_bound(&self, chat: &ChatId) {
        loop {
            let ended = self.bound.notified();
            if !self.table.lock().binding.contains(chat) {
                return;
            }
            ended.await;
        }
    }
}

impl Host {
    /// Returns the name of the workspace that a chat belongs to. A chat that was bound to none belongs to the default one.
    pub fn workspace_of(&self, chat: &ChatId) -> WorkspaceName {
        self.inner.workspaces.of_chat(chat)
    }

    /// Returns whether the actor may use this chat, as far as that depends on its workspace.
    pub fn may_reach(&self, actor: &Actor, chat: &ChatId) -> bool {
        match actor.workspaces() {
            Reach::All | Reach::OfItsChats => true,
            Reach::Some(_) => actor.may_reach(&self.workspace_of(chat)),
        }
    }

    /// Binds a chat to a workspace. Repeating that is no error.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::ChatBound`] if the chat belongs to another workspace, or if a call or a process of it is known.
    /// [`WorkspaceError::UnknownWorkspace`] if there is no such workspace.
    pub async fn bind_chat(
        &self,
        chat: &ChatId,
        workspace: &WorkspaceName,
        actor: &Actor,
    ) -> Result<(), WorkspaceError> {
        if !actor.may_name(workspace) {
            return Err(WorkspaceError::ForeignWorkspace);
        }
        let workspaces = &self.inner.workspaces;
        workspaces.find_home(chat, actor.name(), false).await?;
        let bound = |name: WorkspaceName| WorkspaceError::ChatBound {
            chat: chat.clone(),
            workspace: name,
        };
        let entry = loop {
            workspaces.until_bound(chat).await;
            let mut table = workspaces.table.lock();
            if let Some(known) = table.chats.get(chat) {
                return match known.name == *workspace {
                    // This also tells whether it was removed.
                    true => known.enter().map(drop),
                    false => Err(bound(known.name.clone())),
                };
            }
            if workspace.is_default() {
                return Ok(());
            }
            let entry = table.entries.get(workspace).map(Arc::clone);
            let entry = entry.ok_or_else(|| WorkspaceError::UnknownWorkspace(workspace.clone()))?;
            // The workspace is not removed while this exists.
            let entry = (entry.enter()?, entry);
            if table.chats.len() >= MOST_CHATS {
                let text = format!(
                    "{MOST_CHATS} chats belong to workspaces, which is the most: remove some of the workspaces"
                );
                return Err(WorkspaceError::TooManyWorkspaces(text));
            }
            if table.binding.insert(chat.clone()) {
                break entry;
            }
        };
        let (_used, entry) = entry;
        let _binding = ChatBeingBound { workspaces, chat };
        if self.is_known(chat).await? {
            return Err(bound(WorkspaceName::of_default()));
        }
        let binding = Binding {
            chat: chat.clone(),
            workspace: workspace.clone(),
        };
        let stored = workspaces.store.bind(binding).await;
        let stored = stored.map_err(|error| unrecorded(&error))?;
        if stored != *workspace {
            return Err(bound(stored));
        }
        entry.add_chat();
        workspaces.table.lock().chats.insert(chat.clone(), entry);
        self.inner.audit.record(
            "chat_bound",
            serde_json::json!({
                "principal": actor.name(), "chat": chat.as_str(), "workspace": workspace.as_str(),
            }),
        );
        Ok(())
    }

    /// Binds the chat of a request to the workspace that the request names, and makes the workspace if there is none. Replaces the name in
    /// the request with that of the workspace with a name that the chat belongs to, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`Host::bind_chat`], [`WorkspaceError::ForeignWorkspace`] if the chat belongs to a workspace that the actor does not reach, and
    /// [`WorkspaceError::AgentElsewhere`] if the agent of the workspace is connected to another host.
    pub(in crate::host) async fn settle_workspace(
        &self,
        request: &mut Request,
    ) -> Result<(), WorkspaceError> {
        let (workspaces, actor) = (&self.inner.workspaces, &request.actor);
        let asked = request.workspace.clone();
        let asked = asked.or_else(|| actor.only_workspace());
        let is_default = asked.is_none_or(|asked| asked.is_default());
        let chat = &request.chat;
        workspaces.until_bound(chat).await;
        workspaces.find_home(chat, actor.name(), is_default).await?;
        let known = workspaces.named(&request.chat);
        let wanted = match known {
            Some(_) => request.workspace.take(),
            None => request.workspace.take().or_else(|| actor.only_workspace()),
        };
        let is_there = known.as_ref().filter(|known| !known.is_removed());
        if let Some(wanted) = wanted
            && is_there.is_none_or(|known| known.name != wanted)
        {
            if !wanted.is_default() {
                self.put_workspace(&wanted, None, actor).await?;
            }
            self.bind_chat(&request.chat, &wanted, actor).await?;
        }
        if !self.may_reach(actor, &request.chat) {
            return Err(WorkspaceError::ForeignWorkspace);
        }
        let named = workspaces.named(&request.chat);
        if let Some(entry) = &named {
            workspaces.check_agent(entry).await?;
        }
        request.workspace = named.map(|entry| entry.name.clone());
        Ok(())
    }

    /// Returns whether a call or a process of the chat is known.
    async fn is_known(&self, chat: &ChatId) -> Result<bool, WorkspaceError> {
        let query = CallQuery::of_chat(chat.clone(), 1);
        let calls = self.inner.ledger.calls(query, &Actor::default()).await;
        let calls = calls.map_err(|error| unrecorded(&error))?;
        if !calls.calls.is_empty() {
            return Ok(true);
        }
        let default = &self.inner.workspaces.default;
        let processes = default.list(Some(chat), false, 1).await;
        Ok(processes.is_ok_and(|(_, total)| total > 0))
    }
}
