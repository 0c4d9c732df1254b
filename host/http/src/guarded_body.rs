//! Bodies of replies that hold a resource for as long as they are being sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// The most bytes of one frame. The HTTP library takes the next frame when its buffer has room, and drops the body once it has
/// the last frame.
const PIECE: usize = 64 << 10;

/// A body with a resource that is released when the body is dropped.
#[derive(Debug)]
pub struct Holding<T> {
    body: Body,
    /// The bytes of the current frame that were not sent yet.
    rest: Bytes,
    _held: T,
}

impl<T> Holding<T> {
    /// Makes a body that holds `held` for as long as it is being sent.
    pub fn new(body: Body, held: T) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            _held: held,
        }
    }
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut sum = SizeHint::new();
        sum.set_lower(hint.lower().saturating_add(rest));
        if let Some(upper) = hint.upper() {
            sum.set_upper(upper.saturating_add(rest));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{TryStreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn what_is_held_stays_until_the_last_piece_is_taken() {
        let held = Arc::new(());
        let text: Vec<u8> = (0..3 * PIECE + 5).map(|byte| byte as u8).collect();
        let mut body = Body::new(Holding::new(Body::from(text.clone()), Arc::clone(&held)));
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut taken = Vec::new();
        while let Some(frame) = body.frame().await {
            assert_eq!(Arc::strong_count(&held), 2);
            let data = frame.unwrap().into_data().unwrap();
            assert!(data.len() <= PIECE);
            taken.extend_from_slice(&data);
            let left = (text.len() - taken.len()) as u64;
            assert_eq!(body.size_hint().exact(), Some(left));
            assert_eq!(body.is_end_stream(), left == 0);
        }
        assert_eq!(taken, text);
        drop(body);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[tokio::test]
    async fn streams_and_errors_go_through() {
        let parts = ["a", "", "b"].map(|part| Ok(Bytes::from(part)));
        let broken = std::iter::once(Err(std::io::Error::other("broken")));
        let body = Body::from_stream(stream::iter(parts.into_iter().chain(broken)));
        let mut stream = Body::new(Holding::new(body, ())).into_data_stream();
        let mut text = Vec::new();
        let error = loop {
            match stream.try_next().await {
                Ok(part) => text.extend_from_slice(&part.unwrap()),
                Err(error) => break error,
            }
        };
        assert_eq!(text, b"ab");
        assert!(error.to_string().contains("broken"));
    }
}
