//! An agent: the agent API over a workspace, with the operations for hosts.

use std::io;
use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;
use toolhost_agent::{Offer, as_api_errors};
use toolhost_http::access::Access;
use toolhost_http::limits::Limits;
use toolhost_http::{Edge, Listeners, problem};
use toolhost_workspace::process::Info;

use crate::operations;

/// Returns whether this is the path of a request that only ends something, and so frees permits that other requests need.
pub fn is_end(path: &str) -> bool {
    toolhost_agent::is_end(path) || operations::is_end(path)
}

/// Returns the routes of the agent API and of the operations, all below `/api/v0`, for clients that have the scope `agent`.
pub fn routes(offer: Offer, edge: &Edge) -> Router {
    let operations = operations::router(&offer);
    toolhost_agent::routes(offer, operations, edge)
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
