//! MCP: the tools of a host for any MCP client, through `rmcp`. Over standard input and output, and as streamable HTTP at
//! `/mcp`, in the revisions 2025-11-25 (with sessions) and 2026-07-28 (without any).
//!
//! Calls are run by the ledger, not by `rmcp`: the ledger runs each call once, knows its state, and answers for tasks. This
//! module translates, and decides when a lost client's calls are cancelled.

mod call;
mod caller;
mod connection;
mod errors;
mod handler;
mod http;
mod ids;
mod keepalive;
mod lines;
mod message;
mod notices;
mod outputs;
mod progress;
mod reply;
mod requests;
mod resources;
mod sessions;
mod stdio;
mod subscriptions;
mod tasks;
mod whereabouts;

use std::time::Duration;

use toolhost_state::id::ChatId;

pub(super) use http::Mcp;
pub use stdio::serve_mcp;
pub(super) use whereabouts::{Asked, asked, is_route};

/// The options for MCP clients.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The chat of calls that name none, over pipes and where there are no sessions; `None`: one for each start of the
    /// program, and one for each request. A session of HTTP whose client names no chat has one of its own, which ends with it.
    pub chat: Option<ChatId>,
    /// The longest that one wait of a tool may take; 100 s by default. Clients often give up after 60 to 120 s, so the tool
    /// replies before, and says how to go on. A call that becomes a task waits as long as the tool wants.
    pub max_wait: Duration,
    /// Whether definitions have output schemas, and results structured content beside the same as text. Over HTTP each client
    /// asks for that by a header. Some clients show a model both.
    pub structured: bool,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            chat: None,
            max_wait: Duration::from_secs(100),
            structured: false,
        }
    }
}
