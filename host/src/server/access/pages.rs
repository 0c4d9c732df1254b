//! What the web pages of known origins may send and read (CORS).

use std::sync::Arc;

use axum::http::header::{
    AUTHORIZATION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderName, Method};
use tower_http::cors::{AllowOrigin, AllowPrivateNetwork, CorsLayer};

use super::Access;
use crate::server::trace::REQUEST_ID;
use crate::server::{agent, v1};
use crate::trace::{TRACEPARENT, TRACESTATE};

/// The session of MCP, which the server names in a header and the client in all that follow.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// What else clients of MCP send.
const MCP: [HeaderName; 3] = [
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

/// What pages may send besides what any page may.
fn sent() -> Vec<HeaderName> {
    let all = [AUTHORIZATION, CONTENT_TYPE, IF_NONE_MATCH, REQUEST_ID];
    let traces = [TRACEPARENT, TRACESTATE].map(HeaderName::from_static);
    let all = all.into_iter().chain(traces);
    let all = all.chain(agent::HEADERS).chain([SESSION]).chain(MCP);
    all.collect()
}

/// What pages may read besides what any page may.
fn read() -> Vec<HeaderName> {
    let all = [
        ETAG,
        LOCATION,
        RETRY_AFTER,
        WWW_AUTHENTICATE,
        REQUEST_ID,
        SESSION,
    ];
    all.into_iter().chain(v1::OUTPUT_HEADERS).collect()
}

/// Lets the pages of known origins read replies, and answers what a browser asks before it sends a request.
///
/// Refuses nothing: that is what [`require_known_host`](super::require_known_host) does, outside of it.
pub(in crate::server) fn for_pages(access: Arc<Access>) -> CorsLayer {
    let known = AllowOrigin::predicate(move |origin, _| access.allows_pages_of(origin.as_bytes()));
    CorsLayer::new()
        .allow_origin(known)
        .allow_methods([Method::GET, Method::PUT, Method::POST, Method::DELETE])
        .allow_headers(sent())
        .expose_headers(read())
        // The page is on the Internet and the server on this machine, which browsers ask about as well.
        .allow_private_network(AllowPrivateNetwork::yes())
}
