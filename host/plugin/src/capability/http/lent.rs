//! The body of a request, which outlives a request that fails.
//!
//! A guest writes the body while the host sends the request. If the body went with a request that was denied, the guest would find
//! its stream closed, and take that for a lost connection: which of the two it sees first would be a race.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::poll_fn;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use wasmtime_wasi_http::{Error, WasiBody};

/// A body that is sent.
pub(super) struct Lent(Arc<Mutex<WasiBody>>);

/// The same body, for the time after a failure.
pub(super) struct Rest(Arc<Mutex<WasiBody>>);

/// Lends a body to a request.
pub(super) fn lend(body: WasiBody) -> (Lent, Rest) {
    let body = Arc::new(Mutex::new(body));
    (Lent(Arc::clone(&body)), Rest(body))
}

impl Body for Lent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut *self.0.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().size_hint()
    }
}

impl Rest {
    /// Takes what the guest still writes, and drops it. Returns when the guest has finished the body, or has ended.
    pub(super) async fn discard(self) {
        let mut frames = poll_fn(|context| Pin::new(&mut *self.0.lock()).poll_frame(context));
        while let Some(Ok(_)) = (&mut frames).await {}
    }
}
