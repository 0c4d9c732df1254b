//! The agent API, `/api/v0`: processes and files for a chat server that keeps its chats elsewhere.
//!
//! It is compatible with the reference implementation: paths, texts, the order of checks and every field of a reply are
//! those of its API, and what is ours is added beside them. It knows a workspace, and no plugin.

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
mod tool_calls;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use axum::{Extension, Router};

use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;

pub(super) use error::{in_its_form, require_token};
pub use oversight::Oversight;
use tool_calls::ToolCalls;
pub(super) use tool_calls::is_cancellation;

/// The largest JSON body in bytes: the longest command, of which JSON escapes many characters, and its variables; or edits.
const BODY_BYTES: usize = 4 << 20;

/// Returns the routes of the agent API, all below `/api/v0`.
///
/// Nobody is asked for a token here, and the chat is whatever a header says: `server::router` puts the checks around it.
pub fn router(workspace: Arc<dyn Workspace>, grant: FilesGrant, oversight: Oversight) -> Router {
    Router::new()
        .route("/api/v0/processes/start", post(start::start))
        .route("/api/v0/processes/list", get(list::list))
        .route("/api/v0/processes/{id}/output", get(output::output))
        .route("/api/v0/processes/{id}/signal", post(signal::signal))
        .route("/api/v0/processes/{id}/events", get(events::events))
        .route("/api/v0/tool-calls/{id}/cancel", post(tool_calls::cancel))
        .with_state(Arc::clone(&workspace))
        .merge(files::router(workspace, grant))
        .method_not_allowed_fallback(error::no_method)
        .layer(Extension(ToolCalls::default()))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(Extension(oversight))
        .layer(from_fn(log::requests))
}
