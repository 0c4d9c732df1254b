//! Reading the output of a kept command: through its spool, from which the next host knows exactly what was read.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::net::UnixStream;

use super::contain::{Moved, Outlet, Spool, watch};

/// The read end of the output of a kept command.
#[derive(Debug)]
pub(super) struct KeptPipe {
    /// Tells that there is more to read.
    source: AsyncFd<OwnedFd>,
    outlet: Arc<Outlet>,
    /// Whether nothing was read yet. A terminal's output can be in the pipe, of which `source` tells nothing.
    is_new: bool,
    spool: Arc<Spool>,
    /// How many bytes were read, over all hosts.
    at: u64,
    /// While this is open, the supervisor does not read.
    supervisor: Arc<UnixStream>,
}

impl KeptPipe {
    /// Must be called within a tokio runtime.
    pub(super) fn new(
        outlet: Outlet,
        spool: Arc<Spool>,
        supervisor: Arc<UnixStream>,
    ) -> io::Result<Self> {
        Ok(Self {
            source: watch(outlet.source().try_clone()?)?,
            outlet: Arc::new(outlet),
            is_new: true,
            at: spool.length()?,
            spool,
            supervisor,
        })
    }

    /// Returns the read end.
    pub(super) fn pipe(&self) -> &OwnedFd {
        self.outlet.pipe()
    }

    /// Waits until the pipe has bytes or has ended. Cancel safe.
    pub(super) async fn readable(&self) -> io::Result<()> {
        if self.is_new {
            return Ok(());
        }
        // Only a read finds out that the pipe is empty.
        self.source
            .readable()
            .await
            .map(|mut ready| ready.retain_ready())
    }

    /// Takes at most this many bytes. The spool may forget those before `saved`.
    ///
    /// If the future is dropped, the bytes are in the spool, where the next host finds them.
    pub(super) async fn take(&mut self, most: usize, saved: u64) -> io::Result<Moved> {
        let mut ready = match std::mem::take(&mut self.is_new) {
            true => None,
            false => Some(self.source.readable().await?),
        };
        let (outlet, spool) = (Arc::clone(&self.outlet), Arc::clone(&self.spool));
        let (at, supervisor) = (self.at, Arc::clone(&self.supervisor));
        // A disk can hang.
        let moving = tokio::task::spawn_blocking(move || {
            let moved = spool.take(&outlet, at, most);
            if let Err(error) = spool.free(saved, at) {
                tracing::debug!(%error, "no part of a spool can be freed");
            }
            drop(supervisor);
            moved
        });
        let moved = moving.await.map_err(io::Error::other)??;
        match &moved {
            Moved::Nothing => ready.iter_mut().for_each(AsyncFdReadyGuard::clear_ready),
            Moved::Bytes(bytes) => self.at += bytes.len() as u64,
            Moved::End => {}
        }
        Ok(moved)
    }
}
