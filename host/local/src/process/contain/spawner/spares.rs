//! The spare supervisors of a spawner: the host holds their control sockets until it has commands for them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::process::contain::wire::{FRAME, Frame};
use crate::process::contain::{receive, sys};

/// The supervisors that wait for a command. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Spares {
    waiting: Arc<Mutex<Vec<Spare>>>,
}

/// A supervisor that waits for a command. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Spare {
    /// Its process id, as the spawner knows it.
    pub(super) supervisor: i32,
    pub(super) control: OwnedFd,
    pub(super) origin: Arc<Origin>,
}

/// The spawner of spare supervisors.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) pid: u32,
    /// Cancelled when the host notices the end of the spawner.
    pub(super) ended: CancellationToken,
    pub(super) socket: UnixStream,
}

impl Spares {
    /// Takes the supervisor that has waited for the shortest time: its memory is most likely still in the processor's caches.
    pub(super) fn take(&self) -> Option<Spare> {
        self.waiting.lock().pop()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Takes the messages of a spawner until it has closed its end of the socket. Its supervisors that still wait are then ended.
    ///
    /// # Errors
    ///
    /// If the socket cannot be read.
    pub(super) async fn receive(&self, origin: Origin) -> io::Result<()> {
        let origin = Arc::new(origin);
        let ended = self.receive_all(&origin).await;
        self.keep(&origin, 0);
        ended
    }

    async fn receive_all(&self, origin: &Arc<Origin>) -> io::Result<()> {
        let mut frame = [0; FRAME];
        loop {
            match receive(&origin.socket, &mut frame).await {
                Ok((FRAME, fds)) => self.note(origin, frame, fds),
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn note(&self, origin: &Arc<Origin>, frame: [u8; FRAME], fds: Vec<OwnedFd>) {
        match Frame::decode(frame) {
            Ok(Frame::Spare { supervisor }) => {
                // Without its socket, it ends by itself: this process may have no more descriptors.
                let spare = fds.into_iter().next().map(|control| Spare {
                    supervisor,
                    control,
                    origin: Arc::clone(origin),
                });
                self.waiting.lock().extend(spare);
            }
            Ok(Frame::Idle { keep }) => self.keep(origin, usize::try_from(keep).unwrap_or(0)),
            _ => {}
        }
    }

    /// Ends all supervisors of a spawner but this number. Those that have waited for the shortest time stay.
    fn keep(&self, origin: &Arc<Origin>, most: usize) {
        let mut waiting = self.waiting.lock();
        let is_of = |spare: &Spare| Arc::ptr_eq(&spare.origin, origin);
        let count = waiting.iter().filter(|spare| is_of(spare)).count();
        let mut surplus = count.saturating_sub(most);
        waiting.retain(|spare| {
            let ends = surplus > 0 && is_of(spare);
            surplus -= usize::from(ends);
            !ends
        });
    }
}

impl Origin {
    /// Tells the spawner that a supervisor has got a command. If the spawner does not get this message, it forks another spare one
    /// when the supervisor ends.
    pub(super) fn note_taken(&self, supervisor: i32) {
        let taken = Frame::Taken { supervisor };
        _ = sys::send(self.socket.as_fd(), &taken.encode(), &[]);
    }
}

/// Has the runtime of the caller watch a socket. Hosts in several runtimes may share a spawner.
pub(super) fn watched(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
