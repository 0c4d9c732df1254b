//! The target of a request as a server reads it.

use hyper::Uri;
use hyper::http::uri::PathAndQuery;

/// Returns the path and the query of a URI, which is what a server gets that is no proxy.
pub fn origin_form(uri: &Uri) -> Uri {
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    // A query alone is allowed in a URI, but not in a request.
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    path.parse().unwrap_or_else(|_| Uri::from_static("/"))
}
