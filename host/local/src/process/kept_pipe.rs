//! Reading the output of a kept command: through its spool, from which the next host knows exactly what was read.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;

use super::contain::{Moved, Spool, watch};

/// The read end of the output of a kept command.
#[derive(Debug)]
pub(super) struct KeptPipe {
    pipe: AsyncFd<OwnedFd>,
    spool: Arc<Spool>,
    /// How many bytes were read, over all hosts.
    at: u64,
    /// While this is open, the supervisor does not read.
    supervisor: Arc<UnixStream>,
}

impl KeptPipe {
    /// Must be called within a tokio runtime.
    pub(super) fn new(
        pipe: OwnedFd,
        spool: Arc<Spool>,
        supervisor: Arc<UnixStream>,
    ) -> io::Result<Self> {
        Ok(Self {
            pipe: watch(pipe)?,
            at: spool.length()?,
            spool,
            supervisor,
        })
    }

    /// Returns the read end.
    pub(super) fn pipe(&self) -> &OwnedFd {
        self.pipe.get_ref()
    }

    /// Waits until the pipe has bytes or has ended. Cancel safe.
    pub(super) async fn readable(&self) -> io::Result<()> {
        // Only a read finds out that the pipe is empty.
        self.pipe
            .readable()
            .await
            .map(|mut ready| ready.retain_ready())
    }

    /// Takes at most this many bytes. The spool may forget those before `saved`.
    ///
    /// If the future is dropped, the bytes are in the spool, where the next host finds them.
    pub(super) async fn take(&mut self, most: usize, saved: u64) -> io::Result<Moved> {
        let mut ready = self.pipe.readable().await?;
        let (pipe, spool) = (ready.get_inner().try_clone()?, Arc::clone(&self.spool));
        let (at, supervisor) = (self.at, Arc::clone(&self.supervisor));
        // A disk can hang.
        let moving = tokio::task::spawn_blocking(move || {
            let moved = spool.take(pipe.as_fd(), at, most);
            if let Err(error) = spool.free(saved, at) {
                tracing::debug!(%error, "no part of a spool can be freed");
            }
            drop(supervisor);
            moved
        });
        let moved = moving.await.map_err(io::Error::other)??;
        match &moved {
            Moved::Nothing => ready.clear_ready(),
            Moved::Bytes(bytes) => self.at += bytes.len() as u64,
            Moved::End => {}
        }
        Ok(moved)
    }
}
