//! The system calls that have no safe interface.
#![expect(
    unsafe_code,
    reason = "a ruleset that another process made can be applied by its number only, and detecting namespaces needs a fork"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;

/// Restricts this thread, and what it starts, by a Landlock ruleset.
pub(crate) fn restrict_self(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the call takes two numbers. A descriptor that is no ruleset is an error.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    Errno::result(result).map(drop)
}

/// Runs a function in a forked process and returns its exit code. The process may have several threads, so the function may only
/// make system calls: it may not allocate.
pub(crate) fn in_child(work: impl FnOnce() -> u8) -> io::Result<u8> {
    // SAFETY: the child only makes system calls, as the caller promises, and does not return.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = work();
            // SAFETY: `_exit` takes a number and does not return.
            unsafe { libc::_exit(code.into()) }
        }
        child => match nix::sys::wait::waitpid(Pid::from_raw(child), None)? {
            nix::sys::wait::WaitStatus::Exited(_, code) => {
                Ok(u8::try_from(code).unwrap_or(u8::MAX))
            }
            _ => Err(io::Error::other("the process was killed")),
        },
    }
}

/// Moves this process into new namespaces.
pub(crate) fn unshare(namespaces: i32) -> Result<(), Errno> {
    // SAFETY: the call takes flags. No flag that touches memory or descriptors is among namespaces.
    Errno::result(unsafe { libc::unshare(namespaces) }).map(drop)
}

/// Mounts a file system, or changes a mount if `kind` is `None`.
pub(crate) fn mount(kind: Option<&CStr>, target: &CStr, flags: libc::c_ulong) -> Result<(), Errno> {
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all pointers are null or texts that end with NUL, and outlive the call.
    let result = unsafe { libc::mount(kind, target.as_ptr(), kind, flags, std::ptr::null()) };
    Errno::result(result).map(drop)
}
