//! The process that mounts the layers of a home, and then ends. The host holds its namespaces.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::unistd::Pid;
use toolhost_sandbox::LayerMounts;

use super::command_limits::CommandLimits;
use super::namespaces::{self, refuse};
use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::Frame;

/// Starts the process with the descriptors of [`Frame::Mount`]. Returns its process id. If it cannot be started, reports that to the host
/// and returns `None`.
pub(super) fn start(fds: Vec<OwnedFd>, joins: bool, of_commands: CommandLimits) -> Option<Pid> {
    let mut fds = fds.into_iter();
    let socket = fds.next()?;
    let started = match (fds.next(), fds.collect::<Vec<_>>()) {
        (Some(mounts), joined) if joins == (joined.len() == 2) => match joins {
            true => fork_to_join(&socket, mounts, &joined),
            false => fork(&socket, mounts, of_commands),
        },
        _ => Err(Errno::EMFILE.into()),
    };
    let started = started.inspect_err(|error| refuse(&socket, error, &error.to_string()));
    started.ok()
}

/// Forks the process into new namespaces.
fn fork(socket: &OwnedFd, mounts: OwnedFd, of_commands: CommandLimits) -> io::Result<Pid> {
    let (ours, theirs) = UnixStream::pair()?;
    match of_commands.bounding(|| sys::fork_into(LayerMounts::NAMESPACES))? {
        Side::Child => {
            drop(ours);
            run(socket, mounts, || namespaces::wait_for_users(theirs))
        }
        Side::Parent(pid) => {
            drop(theirs);
            namespaces::map_users_of(pid, ours, || Ok(())).map(|()| pid)
        }
    }
}

/// Forks the process, which joins these namespaces.
fn fork_to_join(socket: &OwnedFd, mounts: OwnedFd, joined: &[OwnedFd]) -> io::Result<Pid> {
    match sys::fork(None)? {
        Side::Child => run(socket, mounts, || sys::move_into(joined)),
        Side::Parent(pid) => Ok(pid),
    }
}

fn run(socket: &OwnedFd, mounts: OwnedFd, enter: impl FnOnce() -> io::Result<()>) -> ! {
    let text = |error: io::Error| (error.to_string(), error);
    let made = (|| {
        enter().map_err(text)?;
        let mut bytes = Vec::new();
        File::from(mounts).read_to_end(&mut bytes).map_err(text)?;
        let mounts = LayerMounts::decode(&bytes).map_err(text)?;
        let made = mounts.make();
        made.map_err(|error| (error.to_string(), error.error))?;
        let own = namespaces::open(None, LayerMounts::NAMESPACES).map_err(text)?;
        namespaces::send(socket, &Frame::Ready.encode(), &own).map_err(text)
    })();
    match made {
        Ok(()) => sys::exit(0),
        Err((why, error)) => {
            refuse(socket, &error, &why);
            sys::exit(1)
        }
    }
}
