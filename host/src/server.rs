//! The HTTP server: tools and calls for chat servers, and the agent API. Knows [`Host`](crate::Host), the processes and
//! the files, and no wasmtime type.

mod accept_errors;
mod access;
pub mod agent;
mod body;
mod connections;
mod headers;
mod health;
mod metrics;
mod problem;
mod surfaces;
mod v1;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;

use crate::call::MAX_ARGUMENTS;
use health::Health;

pub use access::{Access, InvalidToken, LocalAddress, Principal, Scope, Token};
pub use connections::serve;
pub use surfaces::Surfaces;

/// What a request body may have besides the arguments, in bytes.
const ENVELOPE: usize = 64 << 10;

/// Returns the routes of the surfaces that are offered.
///
/// Each request must carry the address that its connection came in on as a [`LocalAddress`] extension, as [`serve`] adds
/// it: without one, no `Host` is accepted.
pub fn router(surfaces: impl Into<Surfaces>, access: Access) -> Router {
    let surfaces = surfaces.into();
    let access = Arc::new(access);
    // Open, and therefore without anything that is worth knowing, unless the token says otherwise.
    let health = Health {
        access: Arc::clone(&access),
        processes: Arc::clone(&surfaces.processes),
    };
    let mut routes = Router::new()
        .route("/healthz", get(health::healthz))
        .with_state(health)
        .merge(api(&surfaces, &access));
    if surfaces.agent {
        let token = from_fn_with_state(Arc::clone(&access), agent::require_token);
        let agent = agent::router(surfaces.processes, surfaces.files, surfaces.grant);
        routes = routes.merge(agent.layer(token));
    }
    routes
        .layer(from_fn(problem::in_a_body))
        // Outside of what makes new responses, so that a page can read those as well.
        .layer(access::for_pages(Arc::clone(&access)))
        .layer(from_fn_with_state(access, access::require_known_host))
        .layer(from_fn(headers::bound))
        .layer(from_fn(agent::in_its_form))
}

/// Returns the routes of a host's tools, if there is a host, and what answers where there is no route.
fn api(surfaces: &Surfaces, access: &Arc<Access>) -> Router {
    let routes = match &surfaces.host {
        Some(host) => Router::new()
            .route("/metrics", get(metrics::text))
            .merge(v1::routes())
            .with_state(host.clone()),
        None => Router::new(),
    };
    routes
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(DefaultBodyLimit::max(MAX_ARGUMENTS + ENVELOPE))
        .layer(from_fn_with_state(
            Arc::clone(access),
            access::require_token,
        ))
}
