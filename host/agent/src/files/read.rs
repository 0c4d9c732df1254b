//! `GET /read-file`: the bytes of a file, in a stream that holds one piece at a time.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::path::{self, refused};
use crate::error::ApiError;
use crate::query::{OFFSET, Query};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::MAX_READ;

pub(super) async fn read(
    State(workspace): State<Arc<dyn Workspace>>,
    mut query: Query,
) -> Result<Response, ApiError> {
    let path = query.required("path");
    let offset = query.number("offset", OFFSET).unwrap_or(0);
    // As in the reference, a limit of 0 means no limit.
    let limit = query.number("limit", OFFSET).filter(|limit| *limit > 0);
    query.finish_strictly()?;
    path::check(&path).map_err(ApiError::bad_request)?;
    let kind = mime_guess::from_path(&path).first_raw();
    let pieces = Pieces::open(workspace, &path, offset, limit.unwrap_or(u64::MAX)).await?;
    let headers = [
        (CONTENT_LENGTH, HeaderValue::from(pieces.left)),
        (
            CONTENT_TYPE,
            HeaderValue::from_static(kind.unwrap_or("application/octet-stream")),
        ),
        // The type comes from the file extension only. Browsers must not guess from the content that they could run it.
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    let pieces = stream::try_unfold(pieces, async |mut pieces: Pieces| {
        Ok::<_, io::Error>(pieces.next().await?.map(|piece| (piece, pieces)))
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The part of a file that a reply sends, read piece by piece. The file may grow meanwhile.
struct Pieces {
    workspace: Arc<dyn Workspace>,
    path: String,
    /// The identity of the file, so that no other file at the same path is sent in its place.
    identity: String,
    /// The piece that was read last, until it is sent.
    read: Option<Vec<u8>>,
    offset: u64,
    /// The number of bytes to send.
    left: u64,
}

impl Pieces {
    async fn open(
        workspace: Arc<dyn Workspace>,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Self, ApiError> {
        let max = usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_READ);
        let opened = workspace.read_file(path.to_owned(), offset, max, Arc::default());
        let chunk = opened.await.map_err(|error| refused(path, &error))?;
        Ok(Self {
            workspace,
            path: path.to_owned(),
            identity: chunk.identity,
            offset,
            left: chunk.size.saturating_sub(offset).min(limit),
            read: Some(chunk.data),
        })
    }

    /// Returns the next piece; `None` after the last. If the file was truncated, replaced or removed meanwhile, it fails, which
    /// aborts the reply.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let data = match self.read.take() {
            Some(data) => data,
            None => self.read().await?,
        };
        if data.is_empty() {
            let text = "the file became shorter while it was read";
            return Err(io::Error::other(text));
        }
        let length = data.len() as u64;
        self.offset += length;
        self.left = self.left.saturating_sub(length);
        Ok(Some(data.into()))
    }

    async fn read(&self) -> io::Result<Vec<u8>> {
        let max = usize::try_from(self.left).unwrap_or(usize::MAX);
        let path = self.path.clone();
        let read = self
            .workspace
            .read_file(path, self.offset, max.min(MAX_READ), Arc::default());
        let chunk = read.await.map_err(io::Error::other)?;
        if chunk.identity != self.identity {
            return Err(io::Error::other("the file was replaced while it was read"));
        }
        Ok(chunk.data)
    }
}
