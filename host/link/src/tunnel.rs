//! A WebSocket as a stream of bytes, over which an agent answers the requests of a host. The agent makes the connection, so it needs no
//! port of its own; the requests are those of HTTP/2, the other way round.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::{SinkExt, StreamExt, future};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};
use tokio_util::io::{CopyToBytes, SinkWriter, StreamReader};
use tower::ServiceExt;

use toolhost_http::access::LocalAddress;
use toolhost_http::problem::Problem;
use toolhost_workspace::process::MAX_CONNECTIONS;

/// How often each side asks the other whether it is there, and how long it waits for the answer. A connection of which one side is gone
/// is noticed after both times.
pub const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// See [`ALIVE_EVERY`].
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The most requests that the host sends at once: connections to ports, and operations.
const MOST_STREAMS: u32 = 1024;

/// The most bytes of one stream that are on their way in one direction, and not read yet.
pub(crate) const STREAM_WINDOW: u32 = 256 << 10;

/// The same of all streams together. Connections to ports that stand still leave room for everything else.
pub(crate) const CONNECTION_WINDOW: u32 = 2 * MAX_CONNECTIONS as u32 * STREAM_WINDOW;

/// A stream that can be read and written.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A stream of bytes through a WebSocket.
pub struct Tunnel(Box<dyn Stream>);

impl std::fmt::Debug for Tunnel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Tunnel").finish()
    }
}

/// Accepts a request for a WebSocket. Returns the answer, and a future that is the tunnel once the answer was sent; `None` if it was not.
///
/// # Errors
///
/// If the request does not ask for one.
pub fn accept(
    mut request: Request,
) -> Result<
    (
        Response,
        impl Future<Output = Option<Tunnel>> + Send + use<>,
    ),
    Problem,
> {
    let headers = request.headers();
    let is = |name, value: &str| {
        let all = headers.get_all(name).iter();
        let mut texts = all.filter_map(|value| value.to_str().ok());
        texts.any(|text| {
            text.split(',')
                .any(|part| part.trim().eq_ignore_ascii_case(value))
        })
    };
    let key = headers.get(SEC_WEBSOCKET_KEY).cloned();
    let asks =
        is(UPGRADE, "websocket") && is(CONNECTION, "upgrade") && is(SEC_WEBSOCKET_VERSION, "13");
    let upgrade = request
        .extensions_mut()
        .remove::<hyper::upgrade::OnUpgrade>();
    let (Some(key), true, Some(upgrade)) = (key, asks, upgrade) else {
        let detail =
            "this is where agents connect: ask for a WebSocket, of version 13, over HTTP/1.1";
        return Err(Problem::broken_request(detail));
    };
    let accepted = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|error| Problem::broken_request(error.to_string()))?;
    let headers = [
        (UPGRADE, HeaderValue::from_static("websocket")),
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (SEC_WEBSOCKET_ACCEPT, accepted),
    ];
    let response = (
        StatusCode::SWITCHING_PROTOCOLS,
        HeaderMap::from_iter(headers),
    );
    let tunnel = async {
        let stream = upgrade
            .await
            .inspect_err(|error| tracing::debug!(%error, "an agent did not take the answer"))
            .ok()?;
        let stream = TokioIo::new(stream);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config()));
        Some(Tunnel::new(socket.await))
    };
    Ok((response.into_response(), tunnel))
}

/// Answers the requests that come through a tunnel, until it breaks.
///
/// # Errors
///
/// Why it broke; `Ok` if the host closed it.
pub async fn answer(tunnel: Tunnel, routes: Router) -> Result<(), hyper::Error> {
    // No page in a browser can send anything through a tunnel, so its requests are as good as those of this machine.
    let local = LocalAddress((Ipv4Addr::LOCALHOST, 0).into());
    let service =
        hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(local);
            routes.clone().oneshot(request.map(axum::body::Body::new))
        });
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(ALIVE_EVERY)
        .keep_alive_timeout(ANSWER_WITHIN)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(MOST_STREAMS)
        .serve_connection(TokioIo::new(tunnel.0), service);
    serving.await
}

impl Tunnel {
    /// Makes a tunnel of a WebSocket.
    pub fn new<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        socket: WebSocketStream<S>,
    ) -> Self {
        let (sink, stream) = socket.split();
        let bytes = stream.filter_map(|message| {
            future::ready(match message {
                Ok(Message::Binary(bytes)) => Some(Ok(bytes)),
                // The library answers pings, and ends the stream after a close.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_)) => None,
                Ok(Message::Text(_) | Message::Frame(_)) => {
                    Some(Err(io::Error::other("a message is no binary one")))
                }
                Err(error) => Some(Err(io::Error::other(error))),
            })
        });
        let sink = sink
            .sink_map_err(io::Error::other)
            .with(|bytes: Bytes| future::ok::<_, io::Error>(Message::Binary(bytes)));
        let reader = StreamReader::new(bytes);
        let writer = SinkWriter::new(CopyToBytes::new(sink));
        Self(Box::new(tokio::io::join(reader, writer)))
    }

    /// Returns the stream.
    pub fn into_stream(self) -> impl AsyncRead + AsyncWrite + Send + Unpin + 'static {
        self.0
    }
}

/// Returns the settings of the WebSockets of both sides. Most of the time nothing goes through them, so their buffers are small.
pub fn config() -> WebSocketConfig {
    /// The most bytes of a message. HTTP/2 has frames of 16 KiB.
    const MESSAGE: usize = 1 << 20;
    WebSocketConfig::default()
        .read_buffer_size(4 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE))
        .max_frame_size(Some(MESSAGE))
}
