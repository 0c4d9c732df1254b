//! The files of the workspace over HTTP: listed, resolved, read, written and edited.
//!
//! Endpoints, texts and the order of checks are the reference's. The workspace adds limits: no file outside of it is reached,
//! no pipe or device is opened, and the edits of one request are all made or none is.

mod edit;
mod lines;
mod list;
mod path;
mod read;
mod write;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};

use super::error::ApiError;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;

/// Returns the routes of files that the operator allows.
pub(super) fn router(workspace: Arc<dyn Workspace>, grant: FilesGrant) -> Router {
    let reading = Router::new()
        .route("/api/v0/list-directory", post(list::list))
        .route("/api/v0/resolve-path", get(list::resolve))
        .route("/api/v0/read-file", get(read::read))
        .route("/api/v0/read-file-lines", get(lines::read_lines));
    let routes = match grant {
        FilesGrant::None => return Router::new(),
        FilesGrant::Read => reading
            .route("/api/v0/write-file", post(read_only))
            .route("/api/v0/edit-files", post(read_only)),
        FilesGrant::Write => reading
            .route("/api/v0/write-file", post(write::write))
            .route("/api/v0/edit-files", post(edit::edit)),
    };
    routes.with_state(workspace)
}

async fn read_only() -> ApiError {
    let message = "Files may be read here, not written: the server was started with --files read.";
    ApiError::new(StatusCode::FORBIDDEN, message)
}
