//! The console: a page on which people see what runs, and end it.
//!
//! The page needs no token, because browsers send none for a page, and it contains no secret. It asks for a session, with whose
//! cookie it then uses the HTTP API. All files come from this server: they are compressed at build, and embedded in the program.

mod files;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use toolhost_http::problem::{Kind, Problem};

use files::{File, INDEX, VERSION};

/// The policy allows nothing from elsewhere, no inline script or style, and no page that frames this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// For files whose addresses name their content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// For the page itself, which names the addresses of the others.
const ASK_AGAIN: &str = "no-cache";

/// Returns the routes of the page: `/console/`, and its files below `/console/assets/`. They need no token. The logins have
/// the redirects that lead there.
pub fn routes() -> Router {
    Router::new()
        .route("/console/", get(page))
        .route("/console/assets/{version}/{*file}", get(asset))
}

async fn page(headers: HeaderMap) -> Result<Response, Problem> {
    let file = File::find(INDEX).ok_or_else(|| missing(INDEX))?;
    response(file, &headers, ASK_AGAIN)
}

async fn asset(
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let file = File::find(&name).filter(|file| version == VERSION && file.name != INDEX);
    response(file.ok_or_else(|| missing(&name))?, &headers, FOR_EVER)
}

fn missing(name: &str) -> Problem {
    let detail =
        format!("there is no file {name:?} in this version of the console; load the page again");
    Problem::new(Kind::NOT_FOUND, detail)
}

fn response(file: File, request: &HeaderMap, kept: &'static str) -> Result<Response, Problem> {
    let mut response = if accepts_gzip(request) {
        ([(CONTENT_ENCODING, "gzip")], file.compressed).into_response()
    } else {
        let content = file.content().map_err(|error| {
            let detail = format!(
                "the file {:?} of the console cannot be read: {error}",
                file.name
            );
            Problem::new(Kind::INTERNAL, detail)
        })?;
        content.into_response()
    };
    for (name, value) in [
        (CONTENT_TYPE, file.media_type()),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, kept),
        (VARY, "accept-encoding"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Returns whether a client takes content that is compressed with gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings
        .map(|coding| coding.split_once(';').unwrap_or((coding, "")))
        .any(|(name, quality)| {
            let is_refused = matches!(
                quality.trim().strip_prefix("q=").map(str::parse::<f32>),
                Some(Ok(0.0))
            );
            matches!(name.trim(), "gzip" | "*") && !is_refused
        })
}
