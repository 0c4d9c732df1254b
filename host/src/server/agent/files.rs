//! The files of the workspace over HTTP: listed, resolved, read, written and edited.
//!
//! Endpoints, texts and the order of checks are the reference's. What differs is what the workspace is for: nothing outside
//! of it is reached, a pipe or a device is never opened, and the edits of one request are all made or none is.

mod edit;
mod error;
mod lines;
mod list;
mod path;
mod query;
mod read;
mod resolve;
mod upload;
mod write;

use axum::Router;
use axum::routing::{get, post};

use crate::files::Pool;

/// Returns the routes of files.
pub(super) fn router(files: Pool) -> Router {
    Router::new()
        .route("/api/v0/list-directory", post(list::list))
        .route("/api/v0/resolve-path", get(resolve::resolve))
        .route("/api/v0/read-file", get(read::read))
        .route("/api/v0/read-file-lines", get(lines::read_lines))
        .route("/api/v0/write-file", post(write::write))
        .route("/api/v0/edit-files", post(edit::edit))
        .with_state(files)
}
