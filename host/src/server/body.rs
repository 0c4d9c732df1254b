//! Request bodies, bounded in time. How large one may be, the routes say.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// It took too long.
    #[error("the body took too long")]
    Slow,
    /// It is too large, or could not be read.
    #[error(transparent)]
    Refused(#[from] BytesRejection),
}

/// Reads the body of a request.
pub(super) async fn read(request: Request) -> Result<Bytes, BodyError> {
    match tokio::time::timeout(BODY_TIME, Bytes::from_request(request, &())).await {
        Ok(body) => Ok(body?),
        Err(_) => Err(BodyError::Slow),
    }
}
