//! Version 1 of the API: tools, calls and chats, for chat servers; plugins, for operators.
//!
//! Each module has its routes with their description ([`utoipa::path`]), from which `/openapi.json` is made. Every operation
//! names the codes of its own problems in an extension `x-problems`. `openapi::complete` makes the responses from them and from
//! the problems of all operations.

mod all_processes;
mod audit;
mod bytes;
mod calls;
mod chats;
mod events;
mod events_of_all;
mod files;
mod health;
mod json_body;
mod machines;
mod notices;
mod now;
mod pages;
mod paths;
mod plugins;
mod ports;
mod processes;
mod templates;
mod tools;
mod workspaces;

use axum::http::HeaderName;
use axum::http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE};
use utoipa_axum::router::OpenApiRouter;

pub use calls::{ListedCall, ListedState};
pub use files::DEFAULT_FILE_SIZE;
pub(super) use files::{FileLimit, admitted, opening};
pub(super) use now::Now;

use toolhost_core::Host;

/// The headers of answers that pages of allowed origins may read besides the usual ones: those of raw output and of files.
pub(super) fn headers() -> Vec<HeaderName> {
    let of_files = [ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE];
    processes::HEADERS.into_iter().chain(of_files).collect()
}

/// Returns the routes and their description.
pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .merge(tools::routes())
        .merge(calls::routes())
        .merge(events::routes())
        .merge(events_of_all::routes())
        .merge(all_processes::routes())
        .merge(processes::routes())
        .merge(notices::routes())
        .merge(files::routes())
        .merge(ports::routes())
        .merge(chats::routes())
        .merge(workspaces::routes())
        .merge(machines::routes())
        .merge(templates::routes())
        .merge(plugins::routes())
        .merge(audit::routes())
        .merge(health::routes())
}

#[cfg(test)]
mod tests;
