//! The HTTP server: tools and calls for chat servers. Knows [`Host`], and no wasmtime type.

mod accept_errors;
mod access;
mod calls;
mod chats;
mod connections;
mod headers;
mod problem;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, put};

use crate::call::MAX_ARGUMENTS;
use crate::host::Host;

pub use access::{Access, InvalidToken, LocalAddress, Token};
pub use connections::serve;

/// What a request body may have besides the arguments, in bytes.
const ENVELOPE: usize = 64 << 10;

/// Returns the routes of the API.
///
/// Each request must carry the address that its connection came in on as a [`LocalAddress`] extension, as [`serve`] adds
/// it: without one, no `Host` is accepted.
pub fn router(host: Host, access: Access) -> Router {
    let access = Arc::new(access);
    let api = Router::new()
        .route("/v1/tools", get(tools::list))
        .route("/v1/chats/{chat}/calls/{call}", put(calls::put))
        .route("/v1/chats/{chat}", delete(chats::delete))
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(DefaultBodyLimit::max(MAX_ARGUMENTS + ENVELOPE))
        .layer(from_fn_with_state(
            Arc::clone(&access),
            access::require_token,
        ))
        .with_state(host);
    // Open, and therefore without anything that is worth knowing.
    let health = Router::new().route(
        "/healthz",
        get(async || axum::Json(serde_json::json!({ "status": "ok" }))),
    );
    health
        .merge(api)
        .layer(from_fn(problem::in_a_body))
        // Outside of what makes new responses, so that a page can read those as well.
        .layer(access::for_pages(Arc::clone(&access)))
        .layer(from_fn_with_state(access, access::require_known_host))
        .layer(from_fn(headers::bound))
}
