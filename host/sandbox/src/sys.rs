//! Wrappers for system calls without a safe interface.
#![expect(
    unsafe_code,
    reason = "rulesets of other processes, attributes of mounts and flags of interfaces have no safe interface"
)]

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;

/// Applies a Landlock ruleset to this thread and to every process that it starts.
pub(crate) fn restrict_self(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the call takes only two numbers. If the descriptor is no ruleset, the call fails.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    Errno::result(result).map(drop)
}

/// Makes a mount read-only, and if `recursive`, all mounts below it. The mount is the one at `path`, or with an empty path, the one of
/// the descriptor `at`.
pub(crate) fn set_read_only(at: impl AsFd, path: &CStr, recursive: bool) -> Result<(), Errno> {
    // SAFETY: the structure may be all zeroes, which changes nothing.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = libc::MOUNT_ATTR_RDONLY;
    let recursive = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path and the structure live until the call returns, and the call writes to neither.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_fd().as_raw_fd(),
            path.as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(result).map(drop)
}

/// Sets the flags of a network interface.
pub(crate) fn set_interface_flags(socket: impl AsFd, name: &CStr, flags: i32) -> Result<(), Errno> {
    // SAFETY: the structure may be all zeroes.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *place = libc::c_char::from_ne_bytes([*byte]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or_default();
    // SAFETY: the kernel reads a name and flags from the structure, which lives until the call returns.
    let result = unsafe {
        libc::ioctl(
            socket.as_fd().as_raw_fd(),
            libc::SIOCSIFFLAGS as libc::Ioctl,
            &raw const request,
        )
    };
    Errno::result(result).map(drop)
}
