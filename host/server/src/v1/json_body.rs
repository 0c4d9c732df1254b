//! Bodies that are JSON objects.

use axum::extract::Request;
use serde::de::DeserializeOwned;
use toolhost_http::body;
use toolhost_http::problem::{Kind, Problem};

/// Reads a body of at most this many bytes. `None`: it is empty.
pub(super) async fn read<T: DeserializeOwned>(
    request: Request,
    max: usize,
) -> Result<Option<T>, Problem> {
    let wrong_type = body::not_json(request.headers());
    let body = body::read(request, max).await?;
    let text = body.bytes.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(wrong) = wrong_type {
        return Err(Problem::new(Kind::UNSUPPORTED_MEDIA_TYPE, wrong));
    }
    // `serde` would accept an array of the fields as well.
    if text.first() != Some(&b'{') {
        return Err(Problem::broken_request("the body must be a JSON object"));
    }
    serde_json::from_slice(text).map(Some).map_err(|error| {
        Problem::broken_request(format!("the body is not what this takes: {error}"))
    })
}
