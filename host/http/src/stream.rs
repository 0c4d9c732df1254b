//! Streams of connections, watched for the progress of their reads and writes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::slots::Client;

/// A stream that can be read and written.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A stream of any kind.
pub(crate) type Raw = Box<dyn Stream>;

/// A stream on which writes must make progress, and which notes whether a write is pending.
pub(super) struct Watched {
    stream: Pin<Box<TimeoutStream<Raw>>>,
    client: Arc<Client>,
}

impl Watched {
    /// Watches a stream. Each write must make progress within the time `write`.
    pub(super) fn new(stream: Raw, client: Arc<Client>, write: Duration) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(write));
        let stream = Box::pin(stream);
        Self { stream, client }
    }

    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.client.set_write_pending(written.is_pending());
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write(context, data);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write_vectored(context, data);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}

/// The server stops, and does not wait for clients that are still sending a body.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the server is shutting down")]
pub struct Stopping;

/// The body of a request, which fails when the server stops: the server does not wait for the bytes that have not arrived by
/// then.
pub(super) struct Sent {
    body: Incoming,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Sent {
    pub(super) fn new(body: Incoming, stopping: CancellationToken) -> Self {
        let stopping = Box::pin(stopping.cancelled_owned());
        Self { body, stopping }
    }
}

impl hyper::body::Body for Sent {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let read = Pin::new(&mut self.body).poll_frame(context);
        if read.is_pending() && self.stopping.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Stopping.into())));
        }
        read.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
