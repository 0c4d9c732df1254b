//! `/docs`: a page on which operators and developers can read and try the API.
//!
//! The page needs no token, because browsers send none for a page, and it contains no secret. It asks for the token, keeps it
//! in its memory only, and loads `/openapi.json` with it. All files that it loads come from this server.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::HeaderName;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use toolhost_http::problem::{Kind, Problem};

/// The policy allows nothing from elsewhere, no inline script, and no page that frames this one. Swagger UI sets styles in its
/// elements, which needs `unsafe-inline`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");

/// The files of Swagger UI that the page loads.
const VENDORED: [&str; 3] = [
    "swagger-ui.css",
    "swagger-ui-bundle.js",
    "favicon-32x32.png",
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
    let found = VENDORED.contains(&name.as_str()).then(|| {
        // The configuration is for a file that the server does not serve.
        let unused = Arc::new(utoipa_swagger_ui::Config::from("/openapi.json"));
        utoipa_swagger_ui::serve(&name, unused).ok().flatten()
    });
    match found.flatten() {
        Some(found) => Ok(file(&found.content_type, found.bytes)),
        None => {
            let detail = format!("there is nothing at /docs/{name}");
            Err(Problem::new(Kind::NOT_FOUND, detail))
        }
    }
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
