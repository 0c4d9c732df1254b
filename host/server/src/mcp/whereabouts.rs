//! The host that answers a request of MCP: that of its session, or else that of its chat.

use axum::http::HeaderMap;
use rmcp::transport::common::server_side_http::session_id;
use rmcp::transport::streamable_http_server::SessionId;
use toolhost_core::Host;
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;

use super::connection::{Connection, SESSION};

/// What decides which host answers a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A session at the host of this machine, which is another one.
    Session {
        /// The machine.
        machine: String,
    },
    /// A chat.
    Chat {
        /// The chat.
        chat: ChatId,
        /// The workspace that the client names.
        workspace: Option<WorkspaceName>,
    },
}

/// Returns whether this is a route of MCP.
pub(crate) fn is_route(route: &str) -> bool {
    route == "/mcp" || route.starts_with("/mcp/")
}

/// Returns what decides which host answers a request with this chat in its path; `None` if this host does, also to say what is wrong with
/// the request.
pub(crate) fn asked(path: Option<&str>, headers: &HeaderMap, host: &Host) -> Option<Asked> {
    if let Some(id) = headers.get(SESSION) {
        let (machine, _) = id.to_str().ok()?.split_once(SEPARATOR)?;
        let is_other = host.machine().is_some_and(|own| own != machine);
        return is_other.then(|| Asked::Session {
            machine: machine.to_owned(),
        });
    }
    let connection = Connection::of(path, headers).ok()?;
    Some(Asked::Chat {
        chat: connection.chat?,
        workspace: connection.workspace,
    })
}

/// Between the machine and the rest of the id of a session.
const SEPARATOR: char = '.';

/// Makes the id of a session. Where hosts share their chats, it begins with the machine of its host, so that the others find it.
pub(super) fn new_session_id(host: &Host) -> SessionId {
    let random = session_id();
    match host.machine() {
        Some(machine) => format!("{machine}{SEPARATOR}{random}").into(),
        None => random,
    }
}
