//! The parts of a server: the tools over HTTP and MCP, and the agent API if the operator enables it.

use std::sync::Arc;

use toolhost_agent::{Offer, Oversight};
use toolhost_core::Host;
use toolhost_http::forward::Forwarding;
use toolhost_workspace::process::Info;

use crate::checks::{Check, MachineChecks};
use crate::mcp::{Mcp, McpOptions};
use crate::v1::FileLimit;

/// The parts that a server offers, and ends when it stops.
#[derive(Clone, Debug)]
pub struct ServerParts {
    pub(super) host: Host,
    /// Whether the agent API is offered as well.
    pub(super) agent: bool,
    pub(super) mcp: Mcp,
    pub(super) checks: MachineChecks,
    pub(super) file_limit: FileLimit,
    /// The connections to other hosts, if requests for their chats are sent on to them.
    pub(super) forwarding: Option<Forwarding>,
}

impl ServerParts {
    /// Offers the agent API as well. A client with the scope `agent` can then reach the processes of all chats, and the files
    /// of the workspace.
    #[must_use]
    pub fn with_agent(self) -> Self {
        Self {
            agent: true,
            ..self
        }
    }

    /// Sets the options for MCP clients.
    #[must_use]
    pub fn with_mcp(self, options: McpOptions) -> Self {
        let mcp = Mcp::new(self.host.clone(), options);
        Self { mcp, ..self }
    }

    /// Adds checks of the machine to `GET /v1/health`. The function may block; it is called for one request at a time.
    #[must_use]
    pub fn with_checks(self, checks: impl Fn() -> Vec<Check> + Send + Sync + 'static) -> Self {
        let checks = MachineChecks::new(checks);
        Self { checks, ..self }
    }

    /// Sets the most bytes of a file that a client uploads; [`DEFAULT_FILE_SIZE`](crate::DEFAULT_FILE_SIZE) by default.
    #[must_use]
    pub fn with_file_size(self, most: u64) -> Self {
        let file_limit = FileLimit(most);
        Self { file_limit, ..self }
    }

    /// Has requests sent on that are for a chat or a session of another host of the same store. By default, they are refused with the
    /// address of that host.
    #[must_use]
    pub fn with_forwarding(self, forwarding: Forwarding) -> Self {
        let forwarding = Some(forwarding);
        Self { forwarding, ..self }
    }

    /// Returns the host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the offer of the agent API.
    pub(super) fn offer(&self) -> Offer {
        let host = &self.host;
        Offer {
            workspace: Arc::clone(host.workspace()),
            files: host.files_grant(),
            remembers_starts: host.ledger().stats().store.is_kept,
            ledger: host.ledger().clone(),
            oversight: Oversight {
                audit: host.audit().clone(),
                metrics: host.metrics().clone(),
                approval: host.approval().clone(),
            },
        }
    }

    /// Ends calls and processes, and returns the processes that were live.
    pub(super) async fn shutdown(&self) -> Vec<Info> {
        let live = self.host.shutdown().await;
        self.mcp.end().await;
        live
    }
}

impl From<Host> for ServerParts {
    /// Offers the tools of a host.
    fn from(host: Host) -> Self {
        Self {
            mcp: Mcp::new(host.clone(), McpOptions::default()),
            host,
            agent: false,
            checks: MachineChecks::default(),
            file_limit: FileLimit::default(),
            forwarding: None,
        }
    }
}
