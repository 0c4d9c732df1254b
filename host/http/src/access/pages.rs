//! What the web pages of known origins may send and read (CORS).

use std::sync::Arc;

use axum::http::header::{ETAG, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, AllowPrivateNetwork, CorsLayer};

use super::Access;
use crate::trace::REQUEST_ID;

/// The session of MCP, which the server names in a header.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// What pages may read besides what any page may.
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

/// Lets the pages of known origins read replies with these headers besides, and answers what a browser asks before it sends a request.
///
/// Refuses nothing: that is what [`require_known_host`](super::require_known_host) does, outside of it.
pub(crate) fn for_pages(access: Arc<Access>, exposed: &[HeaderName]) -> CorsLayer {
    let known = AllowOrigin::predicate(move |origin, _| access.allows_pages_of(origin.as_bytes()));
    CorsLayer::new()
        .allow_origin(known)
        .allow_methods([Method::GET, Method::PUT, Method::POST, Method::DELETE])
        // A page that may send a request may say in it what any client may: names of headers are parts of tools' schemas.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(read(exposed))
        // The page is on the Internet and the server on this machine, which browsers ask about as well.
        .allow_private_network(AllowPrivateNetwork::yes())
}
