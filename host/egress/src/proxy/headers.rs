//! Headers that concern one connection, which a proxy does not pass on (RFC 9110, section 7.6.1).

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

const OF_ONE_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes the headers of one connection, and those that `Connection` names. What says where a request goes and where its body ends
/// stays: a client that names these headers must not change how the next server reads the request.
pub(super) fn remove_of_one_connection(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter();
    let named = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    for name in named
        .iter()
        .filter(|name| ![HOST, CONTENT_LENGTH].contains(*name))
    {
        headers.remove(name);
    }
    for name in OF_ONE_CONNECTION {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_connection_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Private , content-length"),
            ("connection", "host, ,x y, x-other"),
            ("x-private", "1"),
            ("x-other", "1"),
            ("x-kept", "1"),
            ("host", "a"),
            ("content-length", "1"),
            ("transfer-encoding", "chunked"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "keep-alive"),
            ("upgrade", "h2c"),
        ] {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        remove_of_one_connection(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "host", "x-kept"]);
    }
}
