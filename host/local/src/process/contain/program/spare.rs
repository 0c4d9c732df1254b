//! Spare supervisors: each waits for the command that it will supervise, so that no command waits for the fork of its supervisor.
//!
//! The host gets the control socket of each, so that a start is one message from the host to one process that waits for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;

use super::command_limits::CommandLimits;
use super::start::{Attached, Start};
use super::{shell, supervisor};
use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::{FRAME, Frame};
use toolhost_state::own_limits::OwnLimits;

/// The exit code of a spare supervisor that got no command.
pub(super) const UNUSED: i32 = 2;

/// Forks a spare supervisor, and sends its control socket to the host. It ends when the host closes that socket. `limits` are its own, and
/// `of_command` those that its command begins with.
pub(super) fn fork(
    host: BorrowedFd<'_>,
    limits: &OwnLimits,
    of_command: CommandLimits,
) -> io::Result<Pid> {
    let (control, theirs) = UnixStream::pair()?;
    match sys::fork(None)? {
        Side::Child => {
            drop(control);
            wait(theirs.into(), limits, of_command)
        }
        Side::Parent(pid) => {
            let supervisor = pid.as_raw();
            // If the host cannot get it, the socket is closed here, and the supervisor ends.
            _ = sys::send(
                host,
                &Frame::Spare { supervisor }.encode(),
                &[control.as_raw_fd()],
            );
            Ok(pid)
        }
    }
}

/// Waits for a command, and becomes its supervisor.
fn wait(control: OwnedFd, limits: &OwnLimits, of_command: CommandLimits) -> ! {
    if sys::close_all_but(&[control.as_raw_fd()]).is_err() {
        sys::exit(1);
    }
    let prepared = supervisor::Prepared::new();
    shell::warm_up();
    // The name tells whoever looks that everything is prepared.
    _ = nix::sys::prctl::set_name(c"toolhost-spare");
    // Look at the message without its descriptors first: another command may have lowered the limits of this process meanwhile.
    if recv(control.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK) != Ok(1) {
        // The host does not need this supervisor, or has ended.
        sys::exit(UNUSED);
    }
    limits.restore();
    let mut frame = [0; FRAME];
    let received = sys::receive_waiting(control.as_fd(), &mut frame);
    if let Ok((FRAME, fds)) = received
        && let Ok(Frame::Start {
            cgroup,
            ruleset,
            kept,
            fed,
            layered,
        }) = Frame::decode(frame)
        && let attached = (Attached {
            cgroup,
            ruleset,
            kept,
            fed,
            layered,
        })
        && let Some(start) = Start::new(control, fds, attached)
    {
        supervisor::run(prepared, start, of_command)
    }
    sys::exit(0)
}
