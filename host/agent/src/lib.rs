//! The agent API, `/api/v0`: processes and files for a chat server that keeps its chats elsewhere.
//!
//! The API is compatible with the reference implementation: paths, texts, the order of checks and every field of a reply are
//! the same. Toolhost adds fields and routes of its own. This crate knows a workspace, and no plugin.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod body;
mod chat;
mod error;
mod events;
mod files;
mod list;
mod log;
mod openapi;
mod operations;
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

use std::io;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use axum::{Extension, Router};
use tokio_util::sync::CancellationToken;

use toolhost_call::call::Ledger;
use toolhost_http::access::{Access, Scope};
use toolhost_http::limits::Limits;
use toolhost_http::{Edge, Listeners, problem};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::Info;

pub use error::as_api_errors;
pub use oversight::Oversight;

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
    tool_calls::is_cancellation(path) || operations::is_end(path)
}

/// Returns the routes of the agent API, all below `/api/v0`, for clients that have the scope `agent`. A header names the chat; it
/// is not checked against the token.
pub fn routes(offer: Offer, edge: &Edge) -> Router {
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
        .route("/api/v0/openapi.json", get(openapi::description))
        .with_state(Arc::clone(&workspace))
        .merge(files::router(Arc::clone(&workspace), files))
        .merge(operations::router(workspace, files, remembers_starts))
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

/// Returns the routes of a server that offers nothing but a workspace.
///
/// Each request must carry the address that its connection came in on: see [`Edge::around`].
pub fn router(offer: Offer, access: Access) -> Router {
    let limits = Limits::new(0, |request| is_end(request.uri().path()));
    let edge = Edge::new(access, limits);
    let metrics = offer.oversight.metrics.clone();
    let workspace = Arc::clone(&offer.workspace);
    let (open, _) = edge.health(workspace, CancellationToken::new(), None);
    let unknown = Router::new().fallback(problem::no_route);
    let routes = open
        .method_not_allowed_fallback(problem::no_method)
        .merge(edge.admit(unknown, |_| Ok(())))
        .merge(routes(offer, &edge));
    edge.around(routes, metrics, &[], Some(as_api_errors))
}

/// Serves a workspace until `shutdown` is ready, then ends its processes and returns those that were live.
///
/// # Errors
///
/// If a listener has no address.
pub async fn serve(
    listeners: impl Into<Listeners>,
    offer: Offer,
    access: Access,
    shutdown: impl Future<Output = ()>,
) -> io::Result<Vec<Info>> {
    let (workspace, ledger) = (Arc::clone(&offer.workspace), offer.ledger.clone());
    let metrics = offer.oversight.metrics.clone();
    let ending = async {
        shutdown.await;
        let live = workspace.end_all().await;
        ledger.finish().await;
        live
    };
    let live = toolhost_http::serve(listeners, router(offer, access), &metrics, ending).await?;
    Ok(live.unwrap_or_default())
}
