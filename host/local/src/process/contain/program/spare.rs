//! Supervisors that wait for commands, so that no command waits for the fork of its supervisor. A supervisor serves one command after the
//! other.
//!
//! The host has the other end of the socket on which a supervisor gets commands, so that a start is one message from the host to one
//! process that waits for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;

use super::command_limits::CommandLimits;
use super::start::Start;
use super::{shell, supervisor};
use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::{FRAME, Frame};
use toolhost_state::own_limits::OwnLimits;

/// Forks a supervisor that waits for commands. Returns its process id, and the host's end of the socket on which it gets them: it ends
/// when that is closed. `limits` are its own, and `of_commands` those that its commands begin with. `is_of_chat`: its commands will all
/// have the same sandbox.
pub(super) fn fork(
    limits: &OwnLimits,
    of_commands: CommandLimits,
    is_of_chat: bool,
) -> io::Result<(Pid, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    match sys::fork(None)? {
        Side::Child => {
            drop(ours);
            let theirs = OwnedFd::from(theirs);
            serve(Some(&theirs), None, (limits, of_commands), is_of_chat)
        }
        Side::Parent(pid) => Ok((pid, ours.into())),
    }
}

/// Supervises a command, if there is a first one, and then those that come on a socket, until the host closes it.
pub(super) fn serve(
    commands: Option<&OwnedFd>,
    mut first: Option<Start>,
    (limits, of_commands): (&OwnLimits, CommandLimits),
    is_of_chat: bool,
) -> ! {
    let mut keep: Vec<_> = first.iter().flat_map(Start::descriptors).collect();
    keep.extend(commands.map(AsRawFd::as_raw_fd));
    if sys::close_all_but(&keep).is_err() {
        sys::exit(1);
    }
    let mut prepared = supervisor::Prepared::new(is_of_chat, limits);
    if first.is_none() {
        shell::warm_up();
    }
    loop {
        let next = || wait(commands?, limits);
        let Some(start) = first.take().or_else(next) else {
            sys::exit(0)
        };
        prepared = Ok(supervisor::run(prepared, start, of_commands));
    }
}

/// Waits for a command. `None`: the host has no more for this supervisor, or has ended.
fn wait(commands: &OwnedFd, limits: &OwnLimits) -> Option<Start> {
    // The name tells whoever looks that everything is prepared.
    _ = nix::sys::prctl::set_name(c"toolhost-spare");
    // Look at the message without its descriptors first: another command may have lowered the limits of this process meanwhile.
    if recv(commands.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK) != Ok(1) {
        return None;
    }
    limits.restore();
    let mut frame = [0; FRAME];
    let (FRAME, fds) = sys::receive_waiting(commands.as_fd(), &mut frame).ok()? else {
        return None;
    };
    Start::from_descriptors(Frame::decode(frame).ok()?, fds)
}
