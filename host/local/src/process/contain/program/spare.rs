//! Spare supervisors: each waits for the command that it will supervise, so that no command waits for the fork of its supervisor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;

use super::start::Start;
use super::supervisor;
use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::{FRAME, Frame};
use toolhost_state::own_limits::OwnLimits;

/// A supervisor that has no command yet. It ends when this is dropped.
pub(super) struct Spare {
    pid: Pid,
    socket: OwnedFd,
}

impl Spare {
    /// Forks a supervisor. `limits` are those that its command begins with.
    pub(super) fn fork(limits: &OwnLimits) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        match sys::fork(None)? {
            Side::Child => {
                drop(ours);
                wait(theirs.into(), limits)
            }
            Side::Parent(pid) => Ok(Self {
                pid,
                socket: ours.into(),
            }),
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Passes a command to the supervisor.
    ///
    /// # Errors
    ///
    /// If the supervisor has ended. Then it has not begun with the command.
    pub(super) fn pass(self, start: &Start) -> io::Result<()> {
        let (frame, fds) = start.message();
        sys::send(self.socket.as_fd(), &frame.encode(), &fds)
    }
}

/// Waits for a command, and becomes its supervisor.
fn wait(socket: OwnedFd, limits: &OwnLimits) -> ! {
    if sys::close_all_but(&[socket.as_raw_fd()]).is_err() {
        sys::exit(1);
    }
    _ = nix::sys::prctl::set_name(c"toolhost-spare");
    let prepared = supervisor::Prepared::new();
    // Look at the message without its descriptors first: another command may have lowered the limits of this process meanwhile.
    if recv(socket.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK) != Ok(1) {
        // The spawner does not need this supervisor, or has ended.
        sys::exit(0);
    }
    limits.restore();
    let mut frame = [0; FRAME];
    let received = sys::receive_waiting(socket.as_fd(), &mut frame);
    if let Ok((FRAME, fds)) = received
        && let Ok(Frame::Start { cgroup, ruleset }) = Frame::decode(frame)
        && let Some(start) = Start::from_descriptors(fds, cgroup, ruleset)
    {
        drop(socket);
        supervisor::run(prepared, start)
    }
    sys::exit(0)
}
