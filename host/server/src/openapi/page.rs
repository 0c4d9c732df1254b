//! `/docs`: a page on which operators and developers can read and try the API.
//!
//! The page needs no token, because browsers send none for a page, and it contains no secret. It asks for the token, keeps it
//! in its memory only, and loads `/openapi.json` with it. All files that it loads come from this server.

use std::io::Read as _;

use axum::Router;
use axum::extract::Path;
use axum::http::HeaderName;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use flate2::read::GzDecoder;

use toolhost_http::problem::{Kind, Problem};

/// The policy allows nothing from elsewhere, no inline script, and no page that frames this one. Swagger UI sets styles in its
/// elements, which needs `unsafe-inline`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");

/// A file of Swagger UI that the page loads.
struct Vendored {
    name: &'static str,
    media_type: &'static str,
    /// Its content, which the build script compressed with gzip.
    compressed: &'static [u8],
}

macro_rules! vendored {
    ($name:literal, $media_type:literal) => {
        Vendored {
            name: $name,
            media_type: $media_type,
            compressed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")),
        }
    };
}

static VENDORED: [Vendored; 3] = [
    vendored!("swagger-ui.css", "text/css; charset=utf-8"),
    vendored!("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    vendored!("favicon-32x32.png", "image/png"),
];

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/docs", get(|| async { Redirect::permanent("/docs/") }))
        .route(
            "/docs/",
            get(|| async { file("text/html; charset=utf-8", PAGE) }),
        )
        .route("/docs/{file}", get(other))
}

/// Returns the way from `/` to the page, for a server without a console.
pub(crate) fn root() -> Router {
    Router::new().route("/", get(|| async { Redirect::temporary("/docs/") }))
}

async fn other(Path(name): Path<String>) -> Result<Response, Problem> {
    match name.as_str() {
        "page.js" => return Ok(file("text/javascript; charset=utf-8", SCRIPT)),
        "page.css" => return Ok(file("text/css; charset=utf-8", STYLE)),
        _ => {}
    }
    let Some(found) = VENDORED.iter().find(|file| file.name == name) else {
        let detail = format!("there is nothing at /docs/{name}");
        return Err(Problem::new(Kind::NOT_FOUND, detail));
    };
    let mut content = Vec::new();
    GzDecoder::new(found.compressed)
        .read_to_end(&mut content)
        .map_err(|error| {
            let detail = format!("the file {name:?} of this program is damaged: {error}");
            Problem::new(Kind::INTERNAL, detail)
        })?;
    Ok(file(found.media_type, content))
}

fn file(kind: &str, content: impl IntoResponse) -> Response {
    let headers: [(HeaderName, &str); 5] = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, content).into_response()
}
