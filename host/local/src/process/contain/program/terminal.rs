//! The terminal of a command: a pseudoterminal of the machine, or of the namespaces of its chat, where it has a name in `/dev/pts`.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use toolhost_workspace::process::Size;

use crate::process::contain::sys;
use crate::process::contain::values::set_size;

/// Both sides of a terminal.
pub(super) struct Terminal {
    /// The side on which the programs are.
    pub(super) programs: OwnedFd,
    /// The side on which the host types and reads.
    pub(super) hosts: OwnedFd,
}

impl Terminal {
    /// Makes a terminal of this size, and sends the host its side.
    pub(super) fn open(size: Size, host: &OwnedFd) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let hosts = openpt(flags)?;
        grantpt(&hosts)?;
        unlockpt(&hosts)?;
        let programs = ioctl_tiocgptpeer(&hosts, flags)?;
        set_size(&hosts, size)?;
        // All that have this side share the flag.
        rustix::io::ioctl_fionbio(&hosts, true)?;
        sys::send(host.as_fd(), &[0], &[hosts.as_raw_fd()])?;
        Ok(Self { programs, hosts })
    }
}
