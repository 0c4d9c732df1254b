//! The loopback interface of a new network namespace, which is down initially.

use std::io;

use nix::libc;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::sys;

/// Brings the interface `lo` up.
pub(super) fn up() -> io::Result<()> {
    let kind = SocketType::DGRAM;
    let socket = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
    Ok(sys::set_interface_flags(
        &socket,
        c"lo",
        libc::IFF_UP | libc::IFF_RUNNING,
    )?)
}
