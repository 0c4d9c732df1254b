//! What a server offers: the tools of a host, the agent API, or both.

use std::sync::Arc;

use super::agent::Oversight;
use super::mcp::{Mcp, McpOptions};
use toolhost_call::metrics::Metrics;
use toolhost_core::Host;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::Info;

/// What a server offers, and what it ends when it stops.
#[derive(Clone, Debug)]
pub struct Surfaces {
    pub(super) host: Option<Host>,
    pub(super) workspace: Arc<dyn Workspace>,
    /// What the agent API may do with its files.
    pub(super) grant: FilesGrant,
    /// The audit trail and the approval hook of the agent API.
    pub(super) oversight: Oversight,
    /// Whether the agent API is among them.
    pub(super) agent: bool,
    /// The same tools for MCP clients.
    pub(super) mcp: Option<Mcp>,
}

impl Surfaces {
    /// Offers the agent API over this workspace, and nothing else.
    pub fn agent(workspace: Arc<dyn Workspace>, grant: FilesGrant) -> Self {
        Self {
            host: None,
            workspace,
            grant,
            oversight: Oversight::default(),
            agent: true,
            mcp: None,
        }
    }

    /// Records and approves like this what clients of the agent API do. Those that offer the tools of a host begin with its
    /// own.
    #[must_use]
    pub fn with_oversight(self, oversight: Oversight) -> Self {
        Self { oversight, ..self }
    }

    /// Offers the agent API as well. Whoever has the token can then reach the processes of all chats, and
    /// the files of the workspace.
    #[must_use]
    pub fn with_agent(self) -> Self {
        Self {
            agent: true,
            ..self
        }
    }

    /// Serves MCP clients like this.
    #[must_use]
    pub fn with_mcp(self, options: McpOptions) -> Self {
        let mcp = self.host.clone().map(|host| Mcp::new(host, options));
        Self { mcp, ..self }
    }

    /// Returns whether tools are among what it offers.
    pub fn offers_tools(&self) -> bool {
        self.host.is_some()
    }

    /// Kills what is being ended at once, without the rest of its grace: somebody asked a second time.
    pub fn kill_now(&self) {
        self.workspace.kill_now();
    }

    /// Returns where requests are counted. Without a host, nobody sees it.
    pub(super) fn metrics(&self) -> Metrics {
        self.oversight.metrics.clone()
    }

    /// Ends calls and processes, and returns those that were live.
    pub(super) async fn shutdown(&self) -> Vec<Info> {
        let live = match &self.host {
            Some(host) => host.shutdown().await,
            None => self.workspace.end_all().await,
        };
        if let Some(mcp) = &self.mcp {
            mcp.end().await;
        }
        live
    }
}

impl From<Host> for Surfaces {
    /// Offers the tools of a host.
    fn from(host: Host) -> Self {
        Self {
            workspace: Arc::clone(host.workspace()),
            grant: host.files_grant(),
            oversight: Oversight::from(&host),
            mcp: Some(Mcp::new(host.clone(), McpOptions::default())),
            host: Some(host),
            agent: false,
        }
    }
}
