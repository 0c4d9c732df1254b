//! The agent API, `/api/v0`: processes and files for a chat server that keeps its chats elsewhere.
//!
//! The API is compatible with the reference implementation: paths, texts, the order of checks and every field of a reply are
//! the same. Toolhost adds fields and routes of its own. This crate knows a workspace and the ledger, and no plugin.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod body;
mod chat;
mod error;
mod events;
mod files;
mod list;
mod log;
mod output;
mod oversight;
mod page;
mod process_id;
mod process_status;
mod query;
mod reply;
mod signal;
mod start;
mod tool_call_id;
mod tool_calls;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use axum::{Extension, Router};
use toolhost_call::call::Ledger;
use toolhost_http::Edge;
use toolhost_http::access::Scope;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;

pub use error::{ApiError, as_api_errors};
pub use oversight::{Oversight, Watched};
pub use reply::json;
pub use tool_calls::{Asked, ToolCall, digest};

/// The largest JSON body in bytes: the longest command, of which JSON escapes many characters, and its variables; or edits.
pub const BODY_BYTES: usize = 4 << 20;

/// A workspace as the agent API offers it, with the oversight of the operator.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The workspace.
    pub workspace: Arc<dyn Workspace>,
    /// The permitted operations on its files.
    pub files: FilesGrant,
    /// Whether a later agent knows the processes of this one.
    pub remembers_starts: bool,
    /// The ledger of the tool calls.
    pub ledger: Ledger,
    /// The audit trail, the metrics and the approval hook.
    pub oversight: Oversight,
}

/// Whether a later server knows the processes of this one.
#[derive(Clone, Copy, Debug)]
struct RemembersStarts(bool);

/// Returns whether this is the path of a request that only ends something, and so frees permits that other requests need.
pub fn is_end(path: &str) -> bool {
    tool_calls::is_cancellation(path)
}

/// Returns the routes of the agent API, all below `/api/v0`, and others that use [`ToolCall`] and [`Watched`], for clients that have the
/// scope `agent`. A header names the chat; it is not checked against the token.
pub fn routes(offer: Offer, others: Router, edge: &Edge) -> Router {
    let Offer {
        workspace,
        files,
        remembers_starts,
        ledger,
        oversight,
    } = offer;
    let routes = Router::new()
        .route("/api/v0/processes/start", post(start::start))
        .route("/api/v0/processes/list", get(list::list))
        .route("/api/v0/processes/{id}/output", get(output::output))
        .route("/api/v0/processes/{id}/signal", post(signal::signal))
        .route("/api/v0/processes/{id}/events", get(events::events))
        .route("/api/v0/tool-calls/{id}/cancel", post(tool_calls::cancel))
        .with_state(Arc::clone(&workspace))
        .merge(files::router(workspace, files))
        .merge(others)
        .method_not_allowed_fallback(error::no_method)
        .layer(Extension(ledger))
        .layer(Extension(RemembersStarts(remembers_starts)))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(Extension(oversight))
        .layer(from_fn(log::requests));
    // The API is about all chats, so the token must be as well.
    edge.admit(routes, |principal| {
        principal.require_everything(Scope::Agent)
    })
}
