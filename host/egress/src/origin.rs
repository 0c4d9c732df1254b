//! The target of a request in origin form.

use hyper::Uri;
use hyper::http::uri::PathAndQuery;

/// Returns the origin form of a URI, which is its path and query. Servers expect this form; proxies expect the absolute form.
pub fn origin_form(uri: &Uri) -> Uri {
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    // A URI may consist of a query alone, but a request needs a path.
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    path.parse().unwrap_or_else(|_| Uri::from_static("/"))
}
