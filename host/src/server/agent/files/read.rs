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
use crate::server::agent::error::ApiError;
use crate::server::agent::query::Parameters;
use toolhost_local::files::{Pool, Reader};

/// How much is read at once.
const PIECE: u64 = 1 << 20;

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

/// A stretch of a file that is sent. The file stays open, so that all pieces are of the one that was asked for.
struct Pieces {
    files: Pool,
    reader: Arc<Reader>,
    offset: u64,
    /// How many bytes are to be sent.
    left: u64,
}

impl Pieces {
    async fn open(files: Pool, path: &str, offset: u64, limit: u64) -> Result<Self, ApiError> {
        let asked = path.to_owned();
        let opened = files.run(Arc::default(), move |files, _| files.reader(&asked));
        let reader = opened.await.map_err(|error| not_run(&error))?;
        let reader = Arc::new(reader.map_err(|error| refused(path, &error))?);
        Ok(Self {
            files,
            offset,
            left: reader.size().saturating_sub(offset).min(limit),
            reader,
        })
    }

    /// Returns the next piece; `None` after the last. Where the file became shorter than was promised, it fails, which breaks
    /// the reply off.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let (reader, offset) = (Arc::clone(&self.reader), self.offset);
        let max = usize::try_from(self.left.min(PIECE)).unwrap_or(usize::MAX);
        let read = self
            .files
            .run(Arc::default(), move |_, _| reader.read(offset, max));
        let data = read.await.flatten().map_err(io::Error::other)?;
        if data.is_empty() {
            let text = "the file became shorter while it was read";
            return Err(io::Error::other(text));
        }
        let length = data.len() as u64;
        self.offset += length;
        self.left = self.left.saturating_sub(length);
        Ok(Some(data.into()))
    }
}
