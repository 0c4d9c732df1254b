//! `POST /write-file`: a file becomes the body of the request.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::error::{refused, status, text};
use super::path;
use super::query::Query;
use super::upload::{self, Upload};
use crate::error::ApiError;
use crate::oversight::Watched;
use crate::query::Parameters;
use crate::reply;
use crate::tool_calls::{ToolCall, digest};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{Error, Kind, Precondition, Write};

pub(super) async fn write(
    State(workspace): State<Arc<dyn Workspace>>,
    parameters: Parameters,
    call: ToolCall,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    let mut query = Query::new(&parameters);
    let path = query.required("path");
    query.finish()?;
    path::check(path).map_err(ApiError::bad_request)?;
    let upload = upload::read(request).await?;
    let asked = call.asks(|| digest("write-file", &[path.as_bytes(), &upload.data]));
    call.once(asked, store(workspace, path.to_owned(), upload, watched))
        .await
}

/// Writes a file, if it is approved. Every write of this API comes through here.
async fn store(
    workspace: Arc<dyn Workspace>,
    path: String,
    upload: Upload,
    watched: Watched,
) -> Result<Response, ApiError> {
    let arguments = json!({
        "path": path, "size": upload.data.len(), "content": shown(&upload.data),
    });
    watched.approve("write-file", &arguments).await?;
    let message = format!("Successfully wrote to {path:?}");
    let write = Write {
        path,
        data: upload.data,
        when: Precondition::Any,
    };
    let _held = upload.held;
    one(&watched.workspace(workspace), write).await?;
    Ok(reply::json(StatusCode::OK, &json!({ "message": message })))
}

/// Returns the content to show to the approval hook: all of it, or `None` if it is longer than 1 MiB or not UTF-8.
fn shown(data: &[u8]) -> Option<&str> {
    const MOST: usize = 1 << 20;
    std::str::from_utf8(data)
        .ok()
        .filter(|text| text.len() <= MOST)
}

async fn one(workspace: &dyn Workspace, write: Write) -> Result<(), ApiError> {
    let path = write.path.clone();
    let written = workspace.write_files(vec![write], Arc::default()).await;
    let Err((_, error)) = written else {
        return Ok(());
    };
    Err(match error {
        Error::NotAFile if is_directory(workspace, &path).await => {
            ApiError::new(status(&error), format!("open {path}: is a directory"))
        }
        Error::Failed(_) => {
            let message = format!("write {path}: {}", text(&error));
            ApiError::new(status(&error), message)
        }
        error => refused(&path, &error),
    })
}

async fn is_directory(workspace: &dyn Workspace, path: &str) -> bool {
    let found = workspace.metadata(path.to_owned(), Arc::default()).await;
    found.is_ok_and(|found| found.kind == Kind::Directory)
}
