//! The files of a chat for clients that use them without a call. A change of them can do as much as the tool `write_file`, so the approval
//! hook is asked as well.

use std::sync::Arc;

use serde_json::Value;
use toolhost_call::audit::{Audited, Trail};
use toolhost_call::call::WorkspaceError;
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;

use super::approving::INTERFACE;
use super::workspaces::Place;
use super::{Actor, Host};

/// The tool whose users may read files without a call.
pub const READ_TOOL: &str = "read_file";

/// The tool whose users may change files without a call. The hook is asked about it by this name.
pub const WRITE_TOOL: &str = "write_file";

/// The files of a chat. Its workspace is neither closed nor removed while this exists.
#[derive(Clone, Debug)]
pub struct ChatFiles {
    workspace: Arc<dyn Workspace>,
    _place: Place,
}

impl ChatFiles {
    /// Returns the workspace of the chat. Changes through it are recorded in the audit trail.
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.workspace
    }
}

impl Host {
    /// Opens the files of a chat. A chat that is bound to no workspace has those of the default one. If this is for a change and several
    /// hosts share a store, the chat stays at this host from now on.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be opened, or is at another host.
    pub async fn files_of(
        &self,
        chat: &ChatId,
        actor: &Actor,
        for_change: bool,
    ) -> Result<ChatFiles, WorkspaceError> {
        let workspaces = &self.inner.workspaces;
        if for_change {
            workspaces.settle(chat, actor.name()).await?;
        }
        let (workspace, place) = self.open_workspace_of(chat).await?;
        Ok(ChatFiles {
            workspace: Arc::new(Audited::new(workspace, self.files_trail(chat, actor))),
            _place: place,
        })
    }

    /// Opens the workspace of a chat, which is neither closed nor removed while the place exists.
    pub(super) async fn open_workspace_of(
        &self,
        chat: &ChatId,
    ) -> Result<(Arc<dyn Workspace>, Place), WorkspaceError> {
        let workspaces = &self.inner.workspaces;
        let place = workspaces.place(chat)?;
        let need = || Some(workspaces.oversight().of_chat(chat));
        let workspace = workspaces.opened(&place, need).await?;
        Ok((workspace, place))
    }

    /// Asks the approval hook about a change of files, which these arguments describe.
    ///
    /// # Errors
    ///
    /// The reason of the refusal.
    pub async fn approve_files(
        &self,
        chat: &ChatId,
        actor: &Actor,
        arguments: &Value,
    ) -> Result<(), String> {
        let trail = self.files_trail(chat, actor);
        self.approve(&trail, (chat, actor), WRITE_TOOL, arguments)
            .await
    }

    /// Counts bytes of files that a client sent or received.
    pub fn count_file_bytes(&self, direction: &'static str, bytes: u64) {
        self.metrics().file_bytes(INTERFACE, direction, bytes);
    }

    pub(super) fn files_trail(&self, chat: &ChatId, actor: &Actor) -> Trail {
        let (audit, metrics) = (self.audit().clone(), self.metrics().clone());
        Trail::of_client(
            audit,
            metrics,
            Some(INTERFACE),
            actor.name(),
            Some(chat),
            None,
        )
    }
}
