//! A bound on the headers of a request. hyper's own limit of its buffer bounds them only roughly.

use axum::extract::Request;

use super::problem::{Kind, Problem};

/// The most bytes of the target and the headers of a request.
pub(super) const HEADER_BYTES: usize = 64 << 10;

/// The bytes between name and value, and at the end of the line.
const PUNCTUATION: usize = 4;

/// Refuses requests whose target and headers are larger than [`HEADER_BYTES`] together.
pub(super) fn check(request: &Request) -> Result<(), Problem> {
    let path = request.uri().path_and_query();
    let target = path.map_or(0, |path| path.as_str().len());
    let each = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        name.as_str().len() + value.len() + PUNCTUATION
    };
    let size = target + request.headers().iter().map(each).sum::<usize>();
    if size > HEADER_BYTES {
        let detail = format!("the headers have {size} bytes, and may have {HEADER_BYTES}");
        return Err(Problem::new(Kind::LARGE_HEADERS, detail));
    }
    Ok(())
}
