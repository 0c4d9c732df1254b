//! Version 1 of the API: tools, calls and chats, for chat servers; plugins, for operators.

mod calls;
mod chats;
mod plugins;
mod tools;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::host::Host;

/// Returns the routes.
pub(super) fn router() -> Router<Host> {
    Router::new()
        .route("/v1/tools", get(tools::list))
        .route("/v1/chats/{chat}/calls/{call}", put(calls::put))
        .route("/v1/chats/{chat}", delete(chats::delete))
        .route("/v1/plugins", get(plugins::list))
        .route("/v1/plugins/{name}/enable", post(plugins::enable))
        .route("/v1/plugins/{name}/disable", post(plugins::disable))
        .route("/v1/plugins/{name}/reload", post(plugins::reload))
}
