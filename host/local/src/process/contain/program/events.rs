//! The events that the spawner and supervisors wait for: messages, and the ends of children.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The pause after the kernel refused to wait, which never happened: it keeps the loop from using a whole processor.
const PAUSE: Duration = Duration::from_millis(2);

const SOCKET: u64 = 1;

/// A message, or the end of a child.
///
/// Waited for by epoll, which works whatever the limits of this process are: a command of the same user can change them, and
/// poll takes no more descriptors than a process may open.
pub(super) struct Events {
    epoll: Epoll,
    children: SignalFd,
}

impl Events {
    /// Waits for the ends of children from now on. SIGCHLD must be blocked.
    pub(super) fn new() -> io::Result<Self> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let children = SignalFd::with_flags(&mask, flags)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(children.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        Ok(Self { epoll, children })
    }

    /// Waits for messages on a socket, or the bytes of a pipe, as well.
    pub(super) fn listen_to(&self, socket: impl AsFd) -> io::Result<()> {
        let readable = EpollEvent::new(EpollFlags::EPOLLIN, SOCKET);
        Ok(self.epoll.add(socket.as_fd(), readable)?)
    }

    /// Waits for a message, the end of a child, or the timeout. Returns whether a socket or pipe may be readable.
    pub(super) fn wait(&self, timeout: EpollTimeout) -> bool {
        let mut events = [EpollEvent::empty(); 2];
        let readable = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => events
                .iter()
                .take(count)
                .any(|event| event.data() == SOCKET),
            Err(Errno::EINTR) => true,
            Err(_) => {
                std::thread::sleep(PAUSE);
                true
            }
        };
        while let Ok(Some(_)) = self.children.read_signal() {}
        readable
    }

    /// Stops waiting for messages on the socket. Call it before the socket is closed: a child just forked may have it open, too.
    pub(super) fn forget(&self, socket: impl AsFd) {
        _ = self.epoll.delete(socket.as_fd());
    }
}
