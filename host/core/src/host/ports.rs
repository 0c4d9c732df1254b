//! The TCP ports on which commands of a chat listen, for people who use what listens there.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use toolhost_call::call::WorkspaceError;
use toolhost_call::sharing::{PortLink, Sharing as _};
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{Connection, Error, Port};

use super::workspaces::Place;
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

/// A connection to a server of a chat. The workspace of the chat is neither closed nor removed while this exists.
pub struct PortConnection {
    connection: Box<dyn Connection>,
    _place: Place,
}

impl Host {
    /// Returns the ports on which commands of a chat listen; with `process`, those of this command alone. Waits for the first one for up to
    /// this time, but no longer than that command runs.
    ///
    /// # Errors
    ///
    /// See [`PortError`].
    pub async fn ports_of(
        &self,
        chat: &ChatId,
        process: Option<&str>,
        within: Duration,
    ) -> Result<Vec<Port>, PortError> {
        let (workspace, _place) = self.workspace_of_port(chat).await?;
        Ok(workspace.list_ports(chat, process, within).await?)
    }

    /// Returns the address at which a person opens the server at a port of this chat; `None` if the servers of chats are not shown. Whoever has
    /// it can use the server as if on this machine, until it expires.
    pub fn port_link(&self, chat: &ChatId, port: u16, actor: &Actor) -> Option<PortLink> {
        self.inner.links.port(chat, port, actor.name())
    }

    /// Connects to a port on which a command of this chat listens.
    ///
    /// # Errors
    ///
    /// See [`PortError`].
    pub async fn connect_port(
        &self,
        chat: &ChatId,
        port: u16,
    ) -> Result<PortConnection, PortError> {
        let (workspace, place) = self.workspace_of_port(chat).await?;
        Ok(PortConnection {
            connection: workspace.connect(chat, port).await?,
            _place: place,
        })
    }
}

impl Host {
    async fn workspace_of_port(
        &self,
        chat: &ChatId,
    ) -> Result<(Arc<dyn Workspace>, Place), WorkspaceError> {
        let workspaces = &self.inner.workspaces;
        let place = workspaces.place(chat)?;
        let need = || Some(workspaces.oversight().of_chat(chat));
        let workspace = workspaces.opened(&place, need).await?;
        Ok((workspace, place))
    }
}

impl fmt::Debug for PortConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("PortConnection");
        shown.finish_non_exhaustive()
    }
}

impl AsyncRead for PortConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.connection).poll_read(context, buffer)
    }
}

impl AsyncWrite for PortConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.connection).poll_shutdown(context)
    }
}
