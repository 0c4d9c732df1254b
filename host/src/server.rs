//! The HTTP server: tools and calls for chat servers, and the agent API. Knows [`Host`](toolhost_core::Host), the processes and
//! the files, and no wasmtime type.

mod accept_errors;
mod access;
pub mod agent;
mod body;
mod connections;
mod guarded_body;
mod headers;
mod health;
mod limits;
mod listen;
mod mcp;
mod metrics;
mod openapi;
mod problem;
mod surfaces;
mod time;
mod tls;
mod trace;
mod unknown;
mod v1;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use utoipa::openapi::OpenApi;

use health::Watched;
use limits::Limits;
use toolhost_call::call::MAX_ARGUMENTS;

pub use access::{
    Access, InvalidToken, LocalAddress, Principal, Scope, Token, Tokens, UnknownScope, configured,
    token_changes,
};
pub use connections::serve;
pub use listen::{InvalidListen, Listen, Listener, Listeners, SocketError};
pub use mcp::{McpOptions, serve_mcp};
pub use surfaces::Surfaces;
pub use tls::{Tls, TlsError};

/// What a request body may have besides the arguments, in bytes.
const ENVELOPE: usize = 64 << 10;

/// Returns the routes of the surfaces that are offered.
///
/// Each request must carry the address that its connection came in on as a [`LocalAddress`] extension, as [`serve`] adds
/// it: without one, no `Host` is accepted.
pub fn router(surfaces: impl Into<Surfaces>, access: Access) -> Router {
    let surfaces = surfaces.into();
    let access = Arc::new(access);
    let host = surfaces.host.as_ref();
    let events = host.map_or_else(Default::default, |host| host.events().limits());
    let limited = from_fn_with_state(Limits::new(events.readers), limits::admit);
    let metrics = surfaces.metrics();
    // Open, and therefore without anything that is worth knowing, unless the token says otherwise.
    let watched = Watched {
        access: Arc::clone(&access),
        workspace: Arc::clone(&surfaces.workspace),
        host: surfaces.host.clone(),
    };
    let (mut open, described) = health::routes().with_state(watched).split_for_parts();
    if surfaces.host.is_some() {
        open = open.merge(openapi::page());
    }
    let token = from_fn_with_state(Arc::clone(&access), access::require_token);
    // Who may ask is known before a place is taken.
    let api = api(&surfaces, &access.tokens, described)
        .layer(limited.clone())
        .layer(token);
    let mut routes = open
        .method_not_allowed_fallback(problem::no_method)
        .merge(api);
    if surfaces.agent {
        let token = from_fn_with_state(Arc::clone(&access), agent::require_token);
        let agent = agent::router(surfaces.workspace, surfaces.grant, surfaces.oversight);
        routes = routes.merge(agent.layer(limited).layer(token));
    }
    routes
        .layer(from_fn(problem::in_a_body))
        // Outside of what makes new responses, so that a page can read those as well.
        .layer(access::for_pages(Arc::clone(&access)))
        .layer(from_fn_with_state(access, access::require_known_host))
        .layer(from_fn(headers::bound))
        .layer(from_fn(agent::in_its_form))
        .layer(from_fn_with_state(metrics, trace::request))
}

/// Returns the routes of a host's tools with their description, if there is a host, and what answers where there is no route.
fn api(surfaces: &Surfaces, tokens: &Tokens, opened: OpenApi) -> Router {
    let routes = match &surfaces.host {
        Some(host) => {
            let api = v1::routes().merge(metrics::routes());
            let (api, described) = api.with_state(host.clone()).split_for_parts();
            let description = openapi::empty().merge_from(described).merge_from(opened);
            api.merge(openapi::routes(description))
        }
        None => Router::new(),
    };
    let routes = match &surfaces.mcp {
        Some(mcp) => routes.merge(mcp.router(tokens)),
        None => routes,
    };
    routes
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(DefaultBodyLimit::max(MAX_ARGUMENTS + ENVELOPE))
}
