//! Connections to ports as the bodies of a request and of its answer, on both sides.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex};
use tokio_util::io::{ReaderStream, StreamReader};
use tokio_util::task::AbortOnDropHandle;
use toolhost_http::forward::SharedBody;
use toolhost_workspace::Connection;

use crate::transport::{self, Outgoing};

/// The most bytes of each direction that wait on one side, besides those in buffers of the network.
const BUFFER: usize = 64 << 10;

/// The most bytes of one frame.
const PIECE: usize = 32 << 10;

/// Returns the writer of a body, and the body. The body ends when the writer is shut down or dropped.
pub(crate) fn outgoing() -> (DuplexStream, Outgoing) {
    let (writer, reader) = duplex(BUFFER);
    let pieces = ReaderStream::with_capacity(reader, PIECE).map_ok(Frame::data);
    (writer, BodyExt::boxed(StreamBody::new(pieces)))
}

/// Returns the body of a request of another host as one that is sent on.
pub(crate) fn passed(body: axum::body::Body) -> Outgoing {
    SharedBody::new(body).map_err(io::Error::other).boxed()
}

/// Returns the connection whose bytes travel in the body of a request, which has this writer, and in that of its answer.
pub(crate) fn carried(writer: DuplexStream, answer: transport::Body) -> impl Connection {
    let pieces = BodyDataStream::new(answer);
    let pieces = pieces.map_err(|text| io::Error::new(io::ErrorKind::ConnectionReset, text));
    tokio::io::join(StreamReader::new(Box::pin(pieces)), writer)
}

/// Passes the body of a request on to a connection, and returns what comes from the connection.
///
/// The end of either direction is passed on. If the reader of the answer is gone before its end, or the request breaks off, the connection
/// is closed.
pub(crate) fn carry(connection: Box<dyn Connection>, request: axum::body::Body) -> Carrying {
    let (reader, writer) = tokio::io::split(connection);
    let sending = tokio::spawn(send(request.into_data_stream(), writer));
    Carrying {
        pieces: ReaderStream::with_capacity(reader, PIECE),
        sending: Some(AbortOnDropHandle::new(sending)),
    }
}

async fn send(mut pieces: axum::body::BodyDataStream, mut writer: WriteHalf<Box<dyn Connection>>) {
    while let Some(piece) = pieces.next().await {
        let Ok(piece) = piece else {
            return;
        };
        if writer.write_all(&piece).await.is_err() {
            return;
        }
    }
    _ = writer.shutdown().await;
}

/// The bytes that come from a connection.
pub(crate) struct Carrying {
    pieces: ReaderStream<ReadHalf<Box<dyn Connection>>>,
    /// Sends the other direction. It ends with this, unless this has come to its end.
    sending: Option<AbortOnDropHandle<()>>,
}

impl Stream for Carrying {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.pieces.poll_next_unpin(context));
        if next.is_none()
            && let Some(sending) = self.sending.take()
        {
            // The client may go on to send.
            sending.detach();
        }
        Poll::Ready(next)
    }
}
