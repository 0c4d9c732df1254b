//! `POST /edit-files`: replacements in several files, all made or none.

mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use toolhost_edit::matcher::Edit;
use toolhost_edit::{Bounds, Failure, FileEdits, Kind, Planned, Problem, edit as edit_files};

use crate::error::ApiError;
use crate::oversight::Watched;
use crate::query::Query;
use crate::tool_calls::{Asked, ToolCall, digest};
use crate::{body, reply};
use source::Source;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{MAX_WRITE, MAX_WRITES};

/// The permits of requests that edit at once. Each holds its files in memory.
static EDITS: Semaphore = Semaphore::const_new(32);

/// The request body.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Body {
    #[serde(default, deserialize_with = "body::nullable")]
    files: Vec<File>,
    #[serde(default, deserialize_with = "body::nullable")]
    include_diff: bool,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct File {
    #[serde(default, deserialize_with = "body::nullable")]
    path: String,
    #[serde(default, deserialize_with = "body::nullable")]
    edits: Vec<Replacement>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Replacement {
    #[serde(default, deserialize_with = "body::nullable")]
    search: String,
    #[serde(default, deserialize_with = "body::nullable")]
    replace: String,
    #[serde(default, deserialize_with = "body::nullable")]
    replace_all: bool,
}

/// The response body.
#[derive(Debug, Serialize)]
struct Edited {
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<EditedFile>>,
}

#[derive(Debug, Serialize)]
struct EditedFile {
    /// The path, as the client wrote it.
    path: String,
    /// The changes as a unified diff; empty if there are none.
    diff: String,
}

pub(super) async fn edit(
    State(workspace): State<Arc<dyn Workspace>>,
    query: Query,
    call: ToolCall,
    watched: Watched,
    request: Request,
) -> Result<Response, ApiError> {
    query.finish_strictly()?;
    let body: Body = body::read(request).await?;
    let digest = || digest(&[reply::to_text(&body).as_bytes()]);
    let asked = call.asks(|| Asked::once("edit-files", digest()));
    call.once(asked, apply(workspace, body, watched)).await
}

/// Makes the edits of a request, if they are approved. Every edit of this API comes through here.
async fn apply(
    workspace: Arc<dyn Workspace>,
    body: Body,
    watched: Watched,
) -> Result<Response, ApiError> {
    watched.approve("edit-files", &body).await?;
    let _permit = EDITS.acquire().await;
    let edited = body.run(watched.workspace(workspace)).await?;
    let edited = Edited { files: edited };
    Ok(reply::json(StatusCode::OK, &edited))
}

impl Body {
    /// Makes all edits, and returns their diffs if the client asks for them. The search for matches runs on a blocking thread.
    async fn run(self, workspace: Arc<dyn Workspace>) -> Result<Option<Vec<EditedFile>>, ApiError> {
        let source = Source::new(workspace);
        let run = tokio::task::spawn_blocking(move || {
            let planned = self.edit(source)?;
            Ok(self.include_diff.then(|| shown(&planned)))
        });
        run.await.unwrap_or_else(|error| {
            let text = format!("the host failed: {error}");
            Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, text))
        })
    }

    fn edit(&self, mut source: Source) -> Result<Vec<Planned>, ApiError> {
        // More files could not be written, so they are refused before they are read.
        if self.files.len() > MAX_WRITES {
            let message = format!("must specify at most {MAX_WRITES} files");
            return Err(ApiError::bad_request(message));
        }
        let entries: Vec<FileEdits<'_>> = self.files.iter().map(File::edits).collect();
        edit_files(&entries, None, MAX_WRITE, &mut source).map_err(|failure| match failure {
            Failure::Problems(problems) => combined_error(&problems),
            Failure::Write(error) => error,
        })
    }
}

impl File {
    fn edits(&self) -> FileEdits<'_> {
        let edits = self.edits.iter().map(|edit| Edit {
            search: &edit.search,
            replace: &edit.replace,
            replace_all: edit.replace_all,
        });
        FileEdits {
            path: &self.path,
            encoding: None,
            edits: edits.collect(),
        }
    }
}

/// Makes one error of all problems, with the status of the worst.
fn combined_error(problems: &[Problem]) -> ApiError {
    let worst = problems.iter().map(|problem| problem.kind).max();
    let status = match worst {
        Some(Kind::Failed) => StatusCode::INTERNAL_SERVER_ERROR,
        Some(Kind::NotFound) => StatusCode::NOT_FOUND,
        Some(Kind::Denied) => StatusCode::FORBIDDEN,
        Some(Kind::Conflict) => StatusCode::CONFLICT,
        Some(Kind::Invalid) | None => StatusCode::BAD_REQUEST,
    };
    let texts: Vec<_> = problems.iter().map(Problem::to_string).collect();
    ApiError::new(status, texts.join("\n"))
}

fn shown(planned: &[Planned]) -> Vec<EditedFile> {
    let files = planned.iter().map(|file| EditedFile {
        path: file.path.clone(),
        diff: file.diff(Bounds::NONE),
    });
    files.collect()
}
