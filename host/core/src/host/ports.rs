//! The TCP ports on which commands of a chat listen, for people who use what listens there.

use std::time::Duration;

use toolhost_call::call::WorkspaceError;
use toolhost_call::sharing::{PortLink, Sharing as _};
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Connection, Error, Held, Port};

use super::{Actor, Host};

/// A reason why a port of a chat cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The workspace of the chat cannot be opened, or is at another host.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The workspace refused: nothing of the chat listens there, for example.
    #[error(transparent)]
    Refused(#[from] Error),
}

/// The tool whose users see the ports of a chat.
pub const OUTPUT_TOOL: &str = "process_output";

impl Host {
    /// Returns the ports on which commands of a chat listen that an actor may see. Waits for the first one for up to this time, but no longer
    /// than a command of the chat runs.
    ///
    /// # Errors
    ///
    /// See [`PortError`].
    pub async fn ports_of(
        &self,
        chat: &ChatId,
        actor: &Actor,
        within: Duration,
    ) -> Result<Vec<Port>, PortError> {
        let (workspace, _place) = self.open_workspace_of(chat).await?;
        let seen = self.seen_by(actor, &workspace);
        Ok(seen.list_ports(chat, None, within).await?)
    }

    /// Returns the address at which a person opens the server at a port of this chat; `None` if the servers of chats are not shown. Any
    /// bearer of the address can use the server as if on this machine, until the address expires.
    pub fn port_link(&self, chat: &ChatId, port: u16, actor: &Actor) -> Option<PortLink> {
        self.inner.links.port(chat, port, actor.name())
    }

    /// Connects to a port on which a command of this chat listens. The workspace of the chat is neither closed nor removed while the
    /// connection exists.
    ///
    /// # Errors
    ///
    /// See [`PortError`].
    pub async fn connect_port(
        &self,
        chat: &ChatId,
        port: u16,
    ) -> Result<Box<dyn Connection>, PortError> {
        let (workspace, place) = self.open_workspace_of(chat).await?;
        let connection = workspace.connect(chat, port).await?;
        Ok(Box::new(Held::new(connection, place)))
    }
}
