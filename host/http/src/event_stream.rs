//! Streams of server-sent events: where a client resumes, and how events are sent.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

/// The type of a stream of events.
const EVENTS: &str = "text/event-stream";

/// The header with which a client resumes: the id of the last event that it got.
const LAST_EVENT: &str = "last-event-id";

/// The header that keeps proxies from buffering events.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The interval of keep-alive comments. It is shorter than the idle timeouts of proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A comment that keeps the connection alive.
const COMMENT: &[u8] = b":\n\n";

/// A source of events, which makes each event when the connection takes it. Nothing is queued, so a slow client delays no other.
pub trait Source: Send + 'static {
    /// Waits for the next event. Returns `None` after the last.
    fn next(&mut self) -> impl Future<Output = Option<Event>> + Send;
}

/// A source of whole events as they are sent, each with the empty line at its end, for many readers that get the same bytes.
pub trait Frames: Send + 'static {
    /// Waits for the next events. Returns `None` after the last. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// Returns the id of the last event that a client got, by the header `Last-Event-ID`. A client without any event sends no id or
/// an empty one. A header that is no text is returned as `?`, which is the id of no event.
pub fn last_event(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(LAST_EVENT)?;
    Some(header.to_str().unwrap_or("?")).filter(|id| !id.is_empty())
}

/// Returns whether the headers of a response are those of a stream of events.
pub(crate) fn is_one(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENTS.as_bytes()))
}

/// Sends the events of a source, and holds `held` until the stream ends.
pub fn reply<T: Send + 'static>(source: impl Source, held: T) -> Response {
    let events = stream::unfold((source, held), async |(mut source, held)| {
        let event = source.next().await?;
        Some((Ok::<_, Infallible>(event), (source, held)))
    });
    let stream = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // `Sse` sets `Cache-Control` itself.
    ([(BUFFERING, "no")], stream).into_response()
}

/// Sends the events of a source of frames, and holds `held` until the stream ends.
pub fn reply_frames<T: Send + 'static>(source: impl Frames, held: T) -> Response {
    let frames = stream::unfold((source, held), async |(mut source, held)| {
        let frame = match tokio::time::timeout(KEEP_ALIVE, source.next()).await {
            Ok(frame) => frame?,
            Err(_) => Bytes::from_static(COMMENT),
        };
        Some((Ok::<_, Infallible>(frame), (source, held)))
    });
    let headers = [
        (CONTENT_TYPE, EVENTS),
        (CACHE_CONTROL, "no-cache"),
        (BUFFERING, "no"),
    ];
    (headers, Body::from_stream(frames)).into_response()
}
