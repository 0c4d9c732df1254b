//! CORS: the requests that web pages of allowed origins may send, and the headers that they may read.

use std::sync::Arc;

use axum::http::header::{ETAG, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, AllowPrivateNetwork, CorsLayer};

use super::Access;
use crate::trace::REQUEST_ID;

/// The session of MCP, which the server names in a header.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Returns the response headers that pages may read besides those that CORS always exposes.
fn read(more: &[HeaderName]) -> Vec<HeaderName> {
    let all = [
        ETAG,
        LOCATION,
        RETRY_AFTER,
        WWW_AUTHENTICATE,
        REQUEST_ID,
        SESSION,
    ];
    all.into_iter().chain(more.iter().cloned()).collect()
}

/// Lets pages of allowed origins read replies, including these headers, and answers the preflight requests of browsers.
///
/// Refuses nothing: [`Access::check_names`], which is asked before, refuses requests.
pub(crate) fn for_pages(access: Arc<Access>, exposed: &[HeaderName]) -> CorsLayer {
    let known = AllowOrigin::predicate(move |origin, _| access.allows_pages_of(origin.as_bytes()));
    CorsLayer::new()
        .allow_origin(known)
        .allow_methods([Method::GET, Method::PUT, Method::POST, Method::DELETE])
        // Pages may send any header, as any client may: the schemas of tools name headers.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(read(exposed))
        // Browsers also ask whether a page on the Internet may reach a server on this machine.
        .allow_private_network(AllowPrivateNetwork::yes())
}
