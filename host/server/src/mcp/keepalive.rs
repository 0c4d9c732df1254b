//! Keep-alive: replies that begin before their content is ready, so that no proxy takes the connection for dead.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;

/// How long a client waits for the first bytes, and for each keep-alive after that.
const FIRST: Duration = Duration::from_secs(5);
const BEAT: Duration = Duration::from_secs(15);

/// A comment of server-sent events. Clients ignore it, and proxies see traffic.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// The type of `rmcp`'s replies.
type Reply = Response<BoxBody<Bytes, Infallible>>;

type Handling = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Waits a while for a reply, then begins a stream that continues with it. Dropping the stream drops the handling of the
/// request.
pub(super) async fn in_time(
    handling: impl Future<Output = Reply> + Send + 'static,
) -> Response<Body> {
    let mut handling: Handling = Box::pin(handling);
    if let Ok(reply) = tokio::time::timeout(FIRST, &mut handling).await {
        return reply.map(Body::new);
    }
    let mut response = Response::new(Body::from_stream(events(handling)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn events(handling: Handling) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send {
    let rest = stream::unfold(Some(handling), async |handling| {
        let mut handling = handling?;
        match tokio::time::timeout(BEAT, &mut handling).await {
            Ok(reply) => Some((body(reply).await.into_data_stream(), None)),
            Err(_) => Some((Body::from(COMMENT).into_data_stream(), Some(handling))),
        }
    });
    stream::once(async { Ok(COMMENT) }).chain(rest.flatten())
}

/// Returns the body of a reply as events.
async fn body(reply: Reply) -> Body {
    let kind = reply.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !kind.is_some_and(|kind| kind.starts_with(b"application/json")) {
        return Body::new(reply.into_body());
    }
    // The reply is an error, but its status can no longer be sent.
    let Ok(message) = reply.into_body().collect().await;
    Body::from([b"data: ".as_slice(), &message.to_bytes(), b"\n\n"].concat())
}
