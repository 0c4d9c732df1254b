//! `GET /read-file`: the bytes of a file, in a stream that holds one piece at a time.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::error::{not_run, refused};
use super::path;
use super::query::Query;
use crate::files::{Chunk, Error, Pool, Work};
use crate::server::agent::error::ApiError;
use crate::server::agent::query::Parameters;

/// How much is read at once.
const PIECE: u64 = 1 << 20;

/// The last offset at which a piece can be read: the kernel refuses one that ends where it cannot count to.
const LAST_OFFSET: u64 = i64::MAX.unsigned_abs() - PIECE;

pub(super) async fn read(
    State(files): State<Pool>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let mut query = Query::new(&parameters);
    let path = query.required("path");
    let offset = query.number("offset").unwrap_or(0);
    // As in the reference, no limit is none.
    let limit = query.number("limit").filter(|limit| *limit > 0);
    query.finish()?;
    path::check(path).map_err(ApiError::bad_request)?;
    let kind = mime_guess::from_path(path).first_raw();
    let pieces = Pieces::open(files, path, offset, limit.unwrap_or(u64::MAX)).await?;
    let headers = [
        (CONTENT_LENGTH, HeaderValue::from(pieces.left)),
        (
            CONTENT_TYPE,
            HeaderValue::from_static(kind.unwrap_or("application/octet-stream")),
        ),
        // The extension is all that is known: nobody is to guess from the content what it could be run as.
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    let pieces = stream::try_unfold(pieces, async |mut pieces: Pieces| {
        Ok::<_, io::Error>(pieces.next().await?.map(|piece| (piece, pieces)))
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// A stretch of a file that is sent.
struct Pieces {
    files: Pool,
    path: String,
    /// The version of which all pieces are.
    version: String,
    /// The first piece, which was read to know the rest.
    first: Option<Vec<u8>>,
    offset: u64,
    /// How many bytes are to be sent.
    left: u64,
}

impl Pieces {
    async fn open(files: Pool, path: &str, offset: u64, limit: u64) -> Result<Self, ApiError> {
        let first = piece(&files, path, offset, limit)
            .await
            .map_err(|error| not_run(&error))?
            .map_err(|error| refused(path, &error))?;
        Ok(Self {
            files,
            path: path.to_owned(),
            version: first.version,
            first: Some(first.data),
            offset,
            left: first.size.saturating_sub(offset).min(limit),
        })
    }

    /// Returns the next piece; `None` after the last. Where the file is no longer the one that was promised, it fails, which
    /// breaks the reply off: half of one file and half of another would be neither.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let data = match self.first.take() {
            Some(data) => data,
            None => {
                let next = piece(&self.files, &self.path, self.offset, self.left).await;
                let next = next.and_then(|read| read).map_err(io::Error::other)?;
                if next.version != self.version {
                    return Err(io::Error::other("the file changed while it was read"));
                }
                next.data
            }
        };
        if data.is_empty() {
            return Err(io::Error::other(
                "the file became shorter while it was read",
            ));
        }
        let length = data.len() as u64;
        self.offset += length;
        self.left = self.left.saturating_sub(length);
        Ok(Some(data.into()))
    }
}

/// Reads at most one piece. The outer error is one of the host.
async fn piece(
    files: &Pool,
    path: &str,
    offset: u64,
    limit: u64,
) -> Result<Result<Chunk, Error>, Error> {
    let path = path.to_owned();
    let offset = offset.min(LAST_OFFSET);
    let max = usize::try_from(limit.min(PIECE)).unwrap_or(usize::MAX);
    files
        .run(Arc::new(Work::default()), move |files, _| {
            files.read(&path, offset, max)
        })
        .await
}
