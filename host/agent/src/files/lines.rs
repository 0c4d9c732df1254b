//! `GET /read-file-lines`: numbered lines of a file, as a model reads them.
//!
//! Problems with the file are reported within a successful reply, as in the reference.

mod page;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::path;
use crate::error::ApiError;
use crate::query::{OFFSET, Query};
use crate::reply;
use page::{Page, Window};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::{Error, MAX_READ};

/// The default of the largest file size, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The default of the most lines to read.
const LINES: u64 = 2_000;

/// The defaults of the most bytes of a line, and of a page.
const LINE_BYTES: u64 = 1 << 10;
const PAGE_BYTES: u64 = 32 << 10;

/// The upper bound of these two limits: a page is held in memory.
const MAX_BYTES: u64 = 4 << 20;

/// The query parameters of a request.
struct Asked {
    path: String,
    max_file: u64,
    window: Window,
}

pub(super) async fn read_lines(
    State(workspace): State<Arc<dyn Workspace>>,
    mut query: Query,
) -> Result<Response, ApiError> {
    let path = query.required("path");
    // A number that is not given, or 0, stands for the default.
    let mut number = |name, default| {
        let given = query.number(name, OFFSET).filter(|number| *number > 0);
        given.unwrap_or(default)
    };
    let window = Window {
        first: number("offset", 1),
        lines: number("limit", LINES),
        max_line_bytes: bytes(number("max_line_bytes", LINE_BYTES)),
        max_lines: number("max_response_lines", LINES),
        max_bytes: bytes(number("max_response_bytes", PAGE_BYTES)),
    };
    let asked = Asked {
        path,
        max_file: number("max_file_size", MAX_FILE),
        window,
    };
    query.finish_strictly()?;
    let body = asked
        .answer(&*workspace)
        .await
        .unwrap_or_else(|error| json!({ "success": false, "error": error }));
    Ok(reply::json(StatusCode::OK, &body))
}

fn bytes(number: u64) -> usize {
    usize::try_from(number.min(MAX_BYTES)).unwrap_or(usize::MAX)
}

impl Asked {
    /// Returns the reply, or the text of the problem.
    async fn answer(self, workspace: &dyn Workspace) -> Result<Value, String> {
        let path = &self.path;
        path::check(path)?;
        let read = async |offset| {
            let chunk = workspace.read_file(path.clone(), offset, MAX_READ, Arc::default());
            chunk.await.map_err(|error| error_text(path, &error))
        };
        let mut chunk = read(0).await?;
        let (size, version) = (chunk.size, chunk.version.clone());
        if size > self.max_file {
            return Err(format!(
                "file is {size} bytes which exceeds the maximum of {} bytes. Use grep, sed, or awk to extract the content you need, or use offset and limit to read a portion.",
                self.max_file
            ));
        }
        let mut page = Page::new(self.window);
        let mut offset = 0;
        // The reply contains the number of all lines, so the whole file is read, for a small page as well.
        while !chunk.data.is_empty() {
            page.feed(&chunk.data)?;
            offset += chunk.data.len() as u64;
            if offset >= size {
                break;
            }
            chunk = read(offset).await?;
            if chunk.version != version {
                return Err("file changed while it was read".into());
            }
        }
        let page = page.finish()?;
        Ok(json!({
            "success": true,
            "file_size": size,
            "total_lines": page.total_lines,
            "lines_read": page.lines_read,
            "content": page.content,
        }))
    }
}

/// Returns the text of a file error, in the words of the reference where it has some.
fn error_text(path: &str, error: &Error) -> String {
    match error {
        Error::NotFound => format!("file does not exist: {path}"),
        Error::NotAFile => format!("not a file: {path}"),
        Error::OutsideWorkspace { .. } => error.to_string(),
        error => format!("{error}: {path}"),
    }
}
