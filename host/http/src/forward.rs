//! Requests that this host sends on to another host of its store, and the answers that it passes back.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, EXPECT, HOST, ORIGIN, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use futures_util::StreamExt as _;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use reqwest::Url;
use rustls::ClientConfig;
use tokio_util::sync::CancellationToken;
use toolhost_call::call::OtherHost;
use toolhost_call::client;

use super::event_stream;
use super::problem::{Kind, Problem};

/// The header that names the host that forwarded a request. A request that has it is not forwarded again.
pub const FORWARDED_BY: HeaderName = HeaderName::from_static("toolhost-forwarded-by");

/// Headers that concern one connection, besides those that `Connection` names.
const OF_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers of requests that are for this host alone: the cookie is that of its console, and it has checked the origin.
const OF_THIS_HOST: [HeaderName; 4] = [HOST, COOKIE, ORIGIN, EXPECT];

/// The beginning of the names of headers of answers that tell pages what they may do. This host adds its own.
const FOR_PAGES: &str = "access-control-";

/// After how many seconds a request is worth a repeat that another host did not answer.
const AGAIN: u64 = 1;

/// The connections to other hosts. Clones share them.
#[derive(Clone, Debug)]
pub struct Forwarding {
    client: reqwest::Client,
    /// The name of this host.
    name: HeaderValue,
}

/// TLS to other hosts cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("connections to other hosts cannot be set up: {0}")]
pub struct ForwardingError(#[from] reqwest::Error);

impl Forwarding {
    /// Prepares connections of the host of this name, and makes none. `tls` has the authorities of the certificates of the others.
    ///
    /// # Errors
    ///
    /// If the TLS settings cannot be used.
    pub fn new(name: &str, tls: ClientConfig) -> Result<Self, ForwardingError> {
        let client = client::for_peers(tls).build()?;
        let name = HeaderValue::from_str(name).ok();
        let name = name.filter(|name| !name.is_empty());
        Ok(Self {
            client,
            name: name.unwrap_or(HeaderValue::from_static("another host")),
        })
    }

    /// Sends a request to another host, and returns its answer when the head of that is there. The body of the answer follows as the
    /// other host sends it. There is no limit of time; the system notices a connection that is dead. Dropping the future or the answer
    /// ends the request.
    ///
    /// The address of the host has to be one of the store: the token of the client goes there.
    ///
    /// # Errors
    ///
    /// [`Kind::HOST_UNREACHABLE`] if nothing was sent, and [`Kind::HOST_LOST`] if the request may have run, also if `stopping` is cancelled
    /// meanwhile.
    pub async fn send(
        &self,
        request: Request,
        host: &OtherHost,
        stopping: CancellationToken,
    ) -> Result<Response, Problem> {
        let unreachable = |reason: &str| {
            let detail = format!(
                "the host {} cannot be reached ({reason}): nothing ran; repeat the request once it is back",
                host.name
            );
            Problem::new(Kind::HOST_UNREACHABLE, detail).retry_after(AGAIN)
        };
        if !host.has_lease {
            // Another server may have its address by now, and should not get the token.
            return Err(unreachable("it has ended, or is cut off from the database"));
        }
        let (parts, body) = request.into_parts();
        let url = url(host, &parts.uri).ok_or_else(|| {
            let detail = format!(
                "a request for this path cannot be forwarded: send it to the host {}",
                host.name
            );
            Problem::broken_request(detail)
        })?;
        let mut headers = parts.headers;
        remove_of_connection(&mut headers);
        for name in OF_THIS_HOST {
            headers.remove(name);
        }
        headers.insert(FORWARDED_BY, self.name.clone());
        let is_idempotent = parts.method.is_idempotent();
        let sending = self.client.request(parts.method, url).headers(headers);
        let sent = sending.body(reqwest::Body::wrap(SharedBody::new(body)));
        tracing::debug!(host = host.name, "a request is forwarded");
        let lost = |reason: &str| {
            let detail = format!(
                "{reason} before the answer of the host {} was there, so the request may have run: repeat a call with the same id",
                host.name
            );
            let problem = Problem::new(Kind::HOST_LOST, detail);
            match is_idempotent {
                true => problem.retry_after(AGAIN),
                false => problem,
            }
        };
        let answer = stopping.run_until_cancelled(sent.send()).await;
        let answer = answer.ok_or_else(|| lost("this host was stopped"))?;
        let answer = answer.map_err(|error| {
            let cause = client::cause(&error);
            match error.is_connect() {
                true => unreachable(&cause.to_string()),
                false => lost(&format!("the connection broke ({cause})")),
            }
        })?;
        let answer: axum::http::Response<reqwest::Body> = answer.into();
        let mut answer = answer.map(Body::new);
        let headers = answer.headers_mut();
        remove_of_connection(headers);
        let for_pages = headers
            .keys()
            .filter(|name| name.as_str().starts_with(FOR_PAGES));
        let for_pages: Vec<_> = for_pages.cloned().collect();
        for name in for_pages {
            headers.remove(name);
        }
        Ok(match event_stream::is_one(headers) {
            // It has no end of its own.
            true => answer.map(|body| {
                let stopped = Box::pin(stopping.cancelled_owned());
                Body::from_stream(body.into_data_stream().take_until(stopped))
            }),
            false => answer,
        })
    }
}

/// Returns whether another host forwarded this request.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(FORWARDED_BY)
}

/// Returns whether the client of a request is known to the other hosts as well. They know neither the cookies of this one nor the clients
/// at its sockets.
pub fn has_token(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION)
}

/// Returns whether requests can be sent to a host at all.
pub fn has_address(host: &OtherHost) -> bool {
    url(host, &Uri::from_static("/")).is_some()
}

/// Returns the URL of a request at another host; `None` if it has no address of HTTP, or the path does not survive in it.
fn url(host: &OtherHost, uri: &Uri) -> Option<Url> {
    let base = host.address.as_deref()?.trim_end_matches('/');
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let url = Url::parse(&format!("{base}{target}")).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_plain = url.username().is_empty() && url.password().is_none();
    // A path such as /v1/chats/a/calls/%2e%2e would be another one.
    let is_same = url.path().ends_with(uri.path());
    (is_http && is_plain && is_same).then_some(url)
}

/// Removes the headers that concern one connection alone.
pub fn remove_of_connection(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter();
    let named = named.filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> = named
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.into_iter().chain(OF_CONNECTION) {
        headers.remove(name);
    }
}

/// A body that threads may share, as the HTTP client wants it. Only one of them reads it.
#[derive(Debug)]
pub struct SharedBody(Mutex<Body>);

impl SharedBody {
    /// Makes one of a body.
    pub fn new(body: Body) -> Self {
        Self(Mutex::new(body))
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(self.0.get_mut()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(address: Option<&str>, uri: &str) -> Option<String> {
        let host = OtherHost {
            name: "other".into(),
            address: address.map(Into::into),
            has_lease: true,
        };
        url(&host, &uri.parse().unwrap()).map(Into::into)
    }

    #[test]
    fn an_address_is_one_of_http_and_a_path_stays_as_it_is() {
        for (address, uri, expected) in [
            (
                "http://a:1",
                "/v1/chats/a?b=%20",
                Some("http://a:1/v1/chats/a?b=%20"),
            ),
            ("https://a/", "/mcp", Some("https://a/mcp")),
            (
                "https://a/tools",
                "http://evil.example/mcp",
                Some("https://a/tools/mcp"),
            ),
            ("https://user@a", "/mcp", None),
            ("ftp://a", "/mcp", None),
            ("tools-1", "/mcp", None),
            ("https://a", "/v1/chats/a/calls/%2e%2e", None),
        ] {
            let found = target(Some(address), uri);
            assert_eq!(found.as_deref(), expected, "{address} {uri}");
        }
        assert_eq!(target(None, "/mcp"), None);
    }

    #[test]
    fn headers_of_one_connection_are_left_out() {
        let headers = [
            ("connection", "close, X-Own"),
            ("x-own", "1"),
            ("keep-alive", "5"),
            ("transfer-encoding", "chunked"),
            ("authorization", "Bearer t"),
            ("x-other", "2"),
        ];
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let mut headers = HeaderMap::from_iter(headers);
        remove_of_connection(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["authorization", "x-other"]);
    }
}
