//! Standard input and output as streams of the runtime.
//!
//! Node.js gives the programs that it starts sockets, other clients give them pipes. Both are polled. Only files and terminals are read
//! and written by threads that wait.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use nix::sys::socket::{MsgFlags, SockType, getsockopt, recv, send, sockopt};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Returns the streams from and to the client.
pub(super) fn streams() -> (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
) {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let sockets = (Socket::of(io::stdin()), Socket::of(io::stdout()));
    (
        sockets
            .0
            .map_or(Box::new(input), |socket| Box::new(socket) as _),
        sockets
            .1
            .map_or(Box::new(output), |socket| Box::new(socket) as _),
    )
}

/// A stream socket. Other processes have it as well, so it stays one that waits: each read and write says itself that it does not.
struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    /// Returns the socket that this is; `None` if it is none.
    #[allow(unsafe_code, reason = "the runtime polls a descriptor")]
    fn of(stream: impl AsFd) -> Option<Self> {
        let kind = getsockopt(&stream.as_fd(), sockopt::SockType).ok()?;
        if kind != SockType::Stream {
            return None;
        }
        let own = stream.as_fd().try_clone_to_owned().ok()?;
        // SAFETY: the stream owns the descriptor, and does not close it before it is dropped.
        unsafe { AsyncFd::register(own) }.ok().map(Self)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let room = buffer.initialize_unfilled();
            let read = |socket: &AsyncFd<OwnedFd>| {
                Ok(recv(socket.as_raw_fd(), room, MsgFlags::MSG_DONTWAIT)?)
            };
            if let Ok(read) = ready.try_io(read) {
                buffer.advance(read?);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        const FLAGS: MsgFlags = MsgFlags::MSG_DONTWAIT.union(MsgFlags::MSG_NOSIGNAL);
        loop {
            let mut ready = ready!(self.0.poll_write_ready(context))?;
            let write = |socket: &AsyncFd<OwnedFd>| Ok(send(socket.as_raw_fd(), bytes, FLAGS)?);
            if let Ok(written) = ready.try_io(write) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
