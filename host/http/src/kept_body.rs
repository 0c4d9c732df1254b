//! Bodies of requests that are kept while a handler reads them, so that the request can be sent on if the handler does not take it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;

use super::limits::{Held, RequestPermit};

/// A copy of a request, with its body as far as a handler has read it. It is whole once the handler has read all of it.
#[derive(Debug)]
pub struct Kept {
    parts: axum::http::request::Parts,
    read: Arc<Mutex<Read>>,
}

/// The part of a body that was read.
#[derive(Debug, Default)]
struct Read {
    /// `None` once it is too large to be kept.
    bytes: Option<Vec<u8>>,
    held: Held,
    is_whole: bool,
}

impl Kept {
    /// Returns a request for a handler, and a copy of it. A body of more than `max` bytes is not kept, nor one for which the limits of the
    /// server have no room.
    pub fn of(request: Request, max: usize) -> (Request, Self) {
        let (parts, body) = request.into_parts();
        let read = Read {
            bytes: Some(Vec::new()),
            is_whole: body.is_end_stream(),
            ..Read::default()
        };
        let read = Arc::new(Mutex::new(read));
        let copied = Copied {
            body,
            max,
            permit: parts.extensions.get().cloned(),
            read: Arc::clone(&read),
        };
        let request = Request::from_parts(parts.clone(), Body::new(copied));
        (request, Self { parts, read })
    }

    /// Returns the copy; `None` if the body was not read to its end, or was not kept.
    pub fn into_request(self) -> Option<Request> {
        let read = std::mem::take(&mut *self.read.lock());
        let body = read.bytes.filter(|_| read.is_whole)?;
        Some(Request::from_parts(self.parts, Body::from(body)))
    }
}

/// A body of which a copy is made while it is read.
struct Copied {
    body: Body,
    max: usize,
    permit: Option<RequestPermit>,
    read: Arc<Mutex<Read>>,
}

impl Copied {
    fn keep(&self, data: &Bytes) {
        let mut read = self.read.lock();
        let Read { bytes, held, .. } = &mut *read;
        let Some(known) = bytes else {
            return;
        };
        let has_room = known.len() + data.len() <= self.max
            && self
                .permit
                .as_ref()
                .is_none_or(|permit| held.add(permit, data.len()).is_ok());
        match has_room {
            true => known.extend_from_slice(data),
            false => {
                *bytes = None;
                *held = Held::default();
            }
        }
    }
}

impl HttpBody for Copied {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.keep(data);
                }
                if self.body.is_end_stream() {
                    self.read.lock().is_whole = true;
                }
            }
            Some(Err(_)) => {}
            None => self.read.lock().is_whole = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    /// Returns the copy of a body of which a handler read so many frames.
    async fn copy(body: Body, frames: usize, max: usize) -> Option<Bytes> {
        let (mut request, kept) = Kept::of(Request::new(body), max);
        for _ in 0..frames {
            _ = request.body_mut().frame().await;
        }
        let body = kept.into_request()?.into_body();
        Some(body.collect().await.unwrap().to_bytes())
    }

    fn parts() -> Body {
        let parts = ["a", "bc"].map(Ok::<_, std::io::Error>);
        Body::from_stream(futures_util::stream::iter(parts))
    }

    #[tokio::test]
    async fn a_body_is_kept_if_it_was_read_to_its_end() {
        assert_eq!(copy(Body::empty(), 0, 9).await, Some(Bytes::new()));
        assert_eq!(copy(Body::from("abc"), 1, 9).await, Some("abc".into()));
        assert_eq!(copy(Body::from("abc"), 0, 9).await, None);
        assert_eq!(copy(parts(), 3, 3).await, Some("abc".into()));
        assert_eq!(copy(parts(), 1, 9).await, None);
        assert_eq!(copy(parts(), 3, 2).await, None);
    }
}
