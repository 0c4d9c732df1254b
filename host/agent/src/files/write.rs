//! `POST /write-file`: replaces a file with the body of the request.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::path::{self, refused, status, text};
use crate::error::ApiError;
use crate::oversight::Watched;
use crate::query::Query;
use crate::reply;
use crate::tool_calls::{Asked, ToolCall, digest};
use toolhost_http::body::{self, BodyError, Read};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{Error, Kind, MAX_WRITE, Precondition, Write};

/// The longest time that a client may take to send a file.
const TIME: Duration = Duration::from_secs(5 * 60);

pub(super) async fn write(
    State(workspace): State<Arc<dyn Workspace>>,
    query: Query,
    call: ToolCall,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    let path = path::of(query)?;
    // A body that announces too large a size is refused before it is sent.
    if request.body().size_hint().lower() > MAX_WRITE as u64 {
        return Err(BodyError::TooLarge(MAX_WRITE).into());
    }
    let body = body::read_within(request, MAX_WRITE, TIME).await?;
    let asked = call.asks(|| Asked::once("write-file", digest(&[path.as_bytes(), &body.bytes])));
    call.once(asked, store(workspace, path, body, watched))
        .await
}

/// Writes a file, if it is approved. Every write of this API comes through here.
async fn store(
    workspace: Arc<dyn Workspace>,
    path: String,
    body: Read,
    watched: Watched,
) -> Result<Response, ApiError> {
    let arguments = json!({
        "path": path, "size": body.bytes.len(), "content": shown(&body.bytes),
    });
    watched.approve("write-file", &arguments).await?;
    let message = format!("Successfully wrote to {path:?}");
    let (data, _held) = body.into_parts();
    let when = Precondition::Any;
    let write = Write { path, data, when };
    write_one(&*watched.workspace(workspace), write).await?;
    Ok(reply::json(StatusCode::OK, &json!({ "message": message })))
}

/// Returns the content to show to the approval hook: all of it, or `None` if it is longer than 1 MiB or not UTF-8.
fn shown(data: &[u8]) -> Option<&str> {
    const MOST: usize = 1 << 20;
    std::str::from_utf8(data)
        .ok()
        .filter(|text| text.len() <= MOST)
}

async fn write_one(workspace: &dyn Workspace, write: Write) -> Result<(), ApiError> {
    let path = write.path.clone();
    let written = workspace.write_files(vec![write], Arc::default()).await;
    let Err((_, error)) = written else {
        return Ok(());
    };
    Err(match error {
        Error::NotAFile if is_directory(workspace, &path).await => {
            ApiError::new(status(&error), format!("open {path}: is a directory"))
        }
        Error::Failed(_) | Error::NoSpace => {
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
