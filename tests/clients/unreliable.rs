//! A proxy in front of a server: it has no room for the first call for a while, and then loses the replies to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

/// What becomes of a request for a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It does not reach the server: come back after this.
    Refused(StatusCode, &'static str),
    /// It reaches the server, and the answer is the proxy's: that there was none.
    GivenUp,
    /// It reaches the server, and the connection ends in the middle of the reply.
    Cut,
    /// Nothing happens to it.
    Answered,
}

impl Fate {
    /// The fate of one request for a call after the other.
    fn of(number: usize) -> Self {
        match number {
            0..10 => Self::Refused(StatusCode::TOO_MANY_REQUESTS, "0"),
            10 => Self::Refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "Sun, 06 Nov 1994 08:49:37 GMT",
            ),
            11 => Self::Refused(StatusCode::SERVICE_UNAVAILABLE, "soon"),
            12 => Self::GivenUp,
            13 => Self::Cut,
            _ => Self::Answered,
        }
    }
}

/// How many requests for a call have another fate than to be answered.
pub(super) const FAULTS: usize = 14;

/// The proxy, ended with the test.
pub(super) struct Unreliable {
    pub(super) url: String,
    calls: Arc<AtomicUsize>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
struct Forward {
    to: String,
    client: reqwest::Client,
    calls: Arc<AtomicUsize>,
}

impl Unreliable {
    /// Puts a proxy in front of the server of this address.
    pub(super) async fn before(to: &str) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let forward = Forward {
            to: to.to_owned(),
            client: crate::harness::http_client().build().unwrap(),
            calls: Arc::clone(&calls),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(forward_request).with_state(forward);
        let serving = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            calls,
            serving,
        }
    }

    /// How many calls were asked for.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Drop for Unreliable {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn forward_request(State(forward): State<Forward>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let is_call = parts.method == Method::PUT;
    let fate = if is_call {
        Fate::of(forward.calls.fetch_add(1, Ordering::SeqCst))
    } else {
        Fate::Answered
    };
    if let Fate::Refused(status, after) = fate {
        return (status, [(header::RETRY_AFTER, after)], "busy").into_response();
    }
    let mut headers = parts.headers;
    headers.remove(header::HOST);
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let url = format!("{}{}", forward.to, parts.uri);
    let request = forward.client.request(parts.method, url).headers(headers);
    let response = request.body(body).send().await.unwrap();
    let answer = Response::builder().status(response.status()).header(
        header::CONTENT_TYPE,
        &response.headers()[header::CONTENT_TYPE],
    );
    let body = response.bytes().await.unwrap();
    if fate == Fate::GivenUp {
        let page = Html("<h1>504 Gateway Time-out</h1>");
        return (StatusCode::GATEWAY_TIMEOUT, page).into_response();
    }
    if fate == Fate::Cut {
        // The connection ends before the body does.
        let broken = std::future::ready(Err::<Bytes, _>(std::io::Error::other("lost")));
        let lost = Body::from_stream(futures_util::stream::once(broken));
        return answer
            .header(header::CONTENT_LENGTH, body.len())
            .body(lost)
            .unwrap();
    }
    answer.body(Body::from(body)).unwrap()
}
