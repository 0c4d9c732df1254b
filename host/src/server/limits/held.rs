//! What a request holds while it is under way: bytes of its body, and its place until its response has ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{BYTES, BYTES_EACH, NoRoom, Place};

/// Bytes that count as long as this is there.
#[derive(Debug, Default)]
pub(in crate::server) struct Held {
    permits: [Option<OwnedSemaphorePermit>; 2],
}

impl Held {
    /// Counts so many bytes more.
    pub(in crate::server) fn add(&mut self, place: &Place, bytes: usize) -> Result<(), NoRoom> {
        let shares = [
            (&place.inner.own, BYTES_EACH),
            (&place.inner.limits.all, BYTES),
        ];
        for (held, (share, most)) in self.permits.iter_mut().zip(shares) {
            let more = take(&share.bytes, bytes).ok_or(NoRoom::Bytes(most))?;
            match held {
                Some(held) => held.merge(more),
                None => *held = Some(more),
            }
        }
        Ok(())
    }
}

fn take(semaphore: &Arc<Semaphore>, count: usize) -> Option<OwnedSemaphorePermit> {
    let count = u32::try_from(count).ok()?;
    Arc::clone(semaphore).try_acquire_many_owned(count).ok()
}

/// The body of a response, with the place of its request.
#[derive(Debug)]
pub(super) struct Occupied {
    body: Body,
    _place: Place,
}

impl Occupied {
    pub(super) fn body(body: Body, place: Place) -> Body {
        Body::new(Self {
            body,
            _place: place,
        })
    }
}

impl HttpBody for Occupied {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
