//! The spare supervisors of a spawner: the host holds the sockets on which they get commands until it has commands for them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::wire::{FRAME, Frame};
use super::{receive, sys};

/// How long a supervisor waits for its next command before it is ended.
const IDLE: Duration = Duration::from_secs(10);

/// The most supervisors of a spawner that wait.
const MOST: usize = 15;

/// The supervisors that wait for a command. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Spares {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    /// Those that have waited for the longest time come first.
    all: Vec<Spare>,
    /// How many of them stay while no command comes.
    least: usize,
    /// Whether a task ends those that are idle.
    expires: bool,
}

/// A supervisor that waits for a command. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Spare {
    /// The socket on which it gets commands.
    commands: OwnedFd,
    pub(super) origin: Arc<Origin>,
    since: Instant,
}

/// A supervisor that has a command, and can have another one afterwards. It ends when this is dropped and the command has ended.
#[derive(Debug)]
pub(super) struct Lent {
    spare: Spare,
    spares: Spares,
}

/// The spawner of supervisors.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) pid: u32,
    /// Cancelled when the host notices the end of the spawner.
    pub(super) ended: CancellationToken,
    /// Cancelled when another spawner took its place.
    pub(super) retired: CancellationToken,
}

impl Spares {
    /// Makes an empty set, of which `least` stay while no command comes.
    pub(super) fn new(least: usize) -> Self {
        let waiting = Waiting {
            all: Vec::new(),
            least,
            expires: false,
        };
        Self {
            waiting: Arc::new(Mutex::new(waiting)),
        }
    }

    /// Takes the supervisor that has waited for the shortest time: its memory is most likely still in the processor's caches.
    pub(super) fn take(&self) -> Option<Spare> {
        self.waiting.lock().all.pop()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.lock().all.len()
    }

    /// Lends a supervisor for a command.
    pub(super) fn lend(&self, spare: Spare) -> Lent {
        Lent {
            spare,
            spares: self.clone(),
        }
    }

    /// Adds a supervisor, unless there are enough, or its spawner is of no more use. Must be called within a tokio runtime.
    pub(super) fn add(&self, spare: Spare) {
        let origin = &spare.origin;
        let mut waiting = self.waiting.lock();
        if waiting.all.len() == MOST || origin.ended.is_cancelled() || origin.retired.is_cancelled()
        {
            return;
        }
        waiting.all.push(spare);
        if !waiting.expires && waiting.all.len() > waiting.least {
            waiting.expires = true;
            tokio::spawn(expire(Arc::downgrade(&self.waiting)));
        }
    }

    /// Takes the messages of a spawner until it has closed its end of the socket. Its supervisors that still wait are then ended.
    ///
    /// # Errors
    ///
    /// If the socket cannot be read.
    pub(super) async fn receive(&self, origin: &Arc<Origin>, socket: UnixStream) -> io::Result<()> {
        let ended = self.receive_all(origin, &socket).await;
        self.end_all_of(origin);
        ended
    }

    async fn receive_all(&self, origin: &Arc<Origin>, socket: &UnixStream) -> io::Result<()> {
        let mut frame = [0; FRAME];
        loop {
            match receive(socket, &mut frame).await {
                Ok((FRAME, fds)) => {
                    if let Ok(Frame::Spare) = Frame::decode(frame) {
                        // Without its socket, it ends by itself: this process may have no more descriptors.
                        let commands = fds.into_iter().next();
                        let spare = commands.map(|commands| Spare::new(commands, origin));
                        spare.into_iter().for_each(|spare| self.add(spare));
                    }
                }
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends all waiting supervisors of a spawner.
    pub(super) fn end_all_of(&self, origin: &Arc<Origin>) {
        let mut waiting = self.waiting.lock();
        waiting
            .all
            .retain(|spare| !Arc::ptr_eq(&spare.origin, origin));
    }
}

impl Spare {
    pub(super) fn new(commands: OwnedFd, origin: &Arc<Origin>) -> Self {
        Self {
            commands,
            origin: Arc::clone(origin),
            since: Instant::now(),
        }
    }

    /// Sends the supervisor a start, with its descriptors.
    pub(super) fn send(&self, frame: Frame, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let raw: Vec<_> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let commands = self.commands.as_fd();
        sys::send(commands, &frame.encode(), &raw)
    }
}

impl Lent {
    /// Has the supervisor wait for another command. Its last one must have ended. Must be called within a tokio runtime.
    pub(super) fn give_back(self) {
        let Self { spare, spares } = self;
        let since = Instant::now();
        spares.add(Spare { since, ..spare });
    }
}

/// Ends supervisors that have waited for long, until no more wait than those that stay.
async fn expire(waiting: Weak<Mutex<Waiting>>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(waiting) = waiting.upgrade() else {
            return;
        };
        let mut waiting = waiting.lock();
        let idle = waiting.all.iter();
        let idle = idle.take_while(|spare| spare.since.elapsed() >= IDLE);
        let surplus = waiting.all.len().saturating_sub(waiting.least);
        let ended = idle.count().min(surplus);
        waiting.all.drain(..ended);
        if waiting.all.len() <= waiting.least {
            waiting.expires = false;
            return;
        }
    }
}

/// Has the runtime of the caller watch a socket. Hosts in several runtimes may share a spawner.
pub(super) fn watched(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
