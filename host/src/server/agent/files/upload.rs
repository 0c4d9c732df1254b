//! The body of a write: bytes as they are, bounded in size, and in the time for which nothing of it comes.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::StatusCode;
use futures_util::StreamExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::files::MAX_WRITE;
use crate::server::agent::error::ApiError;

/// How long a client may send nothing. All of a large file may take longer.
const SILENCE: Duration = Duration::from_secs(30);

/// The most memory that is taken before anything came.
const AT_ONCE: usize = 1 << 20;

/// How many large bodies are held at once; the others wait, unread.
static LARGE: Semaphore = Semaphore::const_new(4);

/// How long one of them may take from there on, so that slow clients do not keep the others out.
const LARGE_TIME: Duration = Duration::from_secs(5 * 60);

/// How long a body may take that is not large, which holds nobody up.
const SMALL_TIME: Duration = Duration::from_secs(60 * 60);

/// From how many bytes on a body is a large one.
const LARGE_BYTES: usize = 1 << 20;

/// A body that was read. For as long as it is large, it holds a place.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) data: Vec<u8>,
    pub(super) place: Option<SemaphorePermit<'static>>,
}

/// Reads all of a body.
pub(super) async fn read(request: Request) -> Result<Upload, ApiError> {
    let body = request.into_body();
    // What says that it is too large is refused before it is sent.
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > MAX_WRITE {
        return Err(too_large());
    }
    // Memory is taken for what came, not for what was announced.
    let mut data = Vec::with_capacity(announced.min(AT_ONCE));
    let mut pieces = body.into_data_stream();
    let mut place = None;
    let mut deadline = Instant::now() + SMALL_TIME;
    loop {
        let until = deadline.min(Instant::now() + SILENCE);
        let Ok(piece) = tokio::time::timeout_at(until, pieces.next()).await else {
            let message = "Request body took too long.";
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message));
        };
        match piece {
            None => return Ok(Upload { data, place }),
            Some(Ok(piece)) if piece.len() > MAX_WRITE - data.len() => return Err(too_large()),
            Some(Ok(piece)) => {
                data.extend_from_slice(&piece);
                if data.len() > LARGE_BYTES && place.is_none() {
                    place = LARGE.acquire().await.ok();
                    deadline = Instant::now() + LARGE_TIME;
                }
            }
            Some(Err(error)) => {
                let message = "Request body broke off.";
                let refused = ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message);
                return Err(refused.detail(error.to_string()));
            }
        }
    }
}

fn too_large() -> ApiError {
    let message = format!("Request body must have at most {MAX_WRITE} bytes.");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}
