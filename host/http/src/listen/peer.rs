//! The process at the other end of a Unix socket: whether it is a command of a tool.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use toolhost_state::proc;

/// The names of the processes that every command of a host runs below. A supervisor that keeps its command without a host has a name
/// of its own.
const ABOVE_COMMANDS: [&str; 3] = ["toolhost-super", "toolhost-kept", "toolhost-spawn"];

/// The most steps from a process up to the first.
const MOST_STEPS: usize = 1024;

/// Returns whether the process that connected a socket is this user's or root's, still runs, and is no command of this host or
/// another one.
///
/// The kernel notes the process when it connects, so handing the socket to another process changes nothing. The process is held by
/// a descriptor while its ancestors are looked at: if it has ended, its id may belong to another process. Before Linux 6.5, which has no
/// such descriptor for a peer, the id alone is looked at.
pub(super) fn is_own_program(socket: &impl AsFd) -> bool {
    let Ok(peer) = getsockopt(socket, sockopt::PeerCredentials) else {
        return false;
    };
    let own = nix::unistd::geteuid().as_raw();
    let is_user = peer.uid() == own || peer.uid() == 0;
    let held = match getsockopt(socket, sockopt::PeerPidfd) {
        Ok(process) => Some(process),
        Err(Errno::ENOPROTOOPT) => None,
        Err(_) => return false,
    };
    is_user && is_no_command(peer.pid()) && held.is_none_or(|process| runs(&process))
}

/// Returns whether a process runs, by its descriptor.
fn runs(process: &impl AsFd) -> bool {
    let mut ended = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut ended, PollTimeout::ZERO) == Ok(0)
}

/// Returns whether a process runs, and is no command of this host or another one: a command that calls tools without a token would
/// act in any chat.
fn is_no_command(pid: i32) -> bool {
    let mut pid = pid;
    for _ in 0..MOST_STEPS {
        let Some((name, status)) = proc::named_status(pid) else {
            return false;
        };
        if ABOVE_COMMANDS.contains(&name.as_str()) {
            return false;
        }
        // The first process of a namespace has no parent.
        if status.parent == 0 {
            return true;
        }
        pid = status.parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use rustix::process::{WaitId, WaitIdOptions, waitid};
    use toolhost_needs::needs;

    use super::*;

    #[test]
    fn a_process_that_runs_is_told_from_one_that_does_not() {
        for pid in [0, -1, i32::MAX] {
            assert!(!is_no_command(pid), "{pid}");
        }
    }

    /// Its zombie still has the id, as another process could have later.
    #[needs(program = "python3")]
    #[test]
    fn a_client_that_has_ended_is_not_known_any_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let _own = UnixStream::connect(&path).unwrap();
        assert!(is_own_program(&listener.accept().unwrap().0));
        let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
        #[expect(clippy::disallowed_methods, reason = "no command of a tool")]
        let mut child = std::process::Command::new("python3");
        let mut child = child.arg("-c").arg(connect).arg(&path).spawn().unwrap();
        let (socket, _) = listener.accept().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), options).unwrap();
        assert!(is_no_command(child.id().cast_signed()));
        assert!(!is_own_program(&socket));
        child.wait().unwrap();
        assert!(!is_own_program(&socket));
    }
}
