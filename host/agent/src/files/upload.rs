//! The body of a write: raw bytes, bounded in size, in time, and in the time without progress.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::StatusCode;
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::error::ApiError;
use toolhost_http::limits::{Held, RequestPermit};
use toolhost_workspace::files::MAX_WRITE;

/// The longest time without a byte from the client. A whole file may take longer.
const SILENCE: Duration = Duration::from_secs(30);

/// The most bytes of memory that are allocated before the first bytes arrive.
const AT_ONCE: usize = 1 << 20;

/// How long all of a body may take.
const TIME: Duration = Duration::from_secs(5 * 60);

/// A body that was read, and the count of its bytes.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) data: Vec<u8>,
    pub(super) held: Held,
}

/// Reads all of a body.
pub(super) async fn read(request: Request) -> Result<Upload, ApiError> {
    let place = request.extensions().get::<RequestPermit>().cloned();
    let body = request.into_body();
    // A body that announces too large a size is refused before it is sent.
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > MAX_WRITE {
        return Err(too_large());
    }
    // Beyond `AT_ONCE`, memory is allocated for bytes that arrived, not for the announced size.
    let mut data = Vec::with_capacity(announced.min(AT_ONCE));
    let mut pieces = body.into_data_stream();
    let mut held = Held::default();
    let deadline = Instant::now() + TIME;
    loop {
        let until = deadline.min(Instant::now() + SILENCE);
        let Ok(piece) = tokio::time::timeout_at(until, pieces.next()).await else {
            let message = "Request body took too long.";
            return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message));
        };
        match piece {
            None => return Ok(Upload { data, held }),
            Some(Ok(piece)) if piece.len() > MAX_WRITE - data.len() => return Err(too_large()),
            Some(Ok(piece)) => {
                if let Some(place) = &place {
                    held.add(place, piece.len())?;
                }
                data.extend_from_slice(&piece);
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
