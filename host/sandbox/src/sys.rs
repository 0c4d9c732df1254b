//! The system calls that have no safe interface.
#![expect(
    unsafe_code,
    reason = "a ruleset that another process made can be applied by its number only"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;

/// Restricts this thread, and what it starts, by a Landlock ruleset.
pub(crate) fn restrict_self(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the call takes two numbers. A descriptor that is no ruleset is an error.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    Errno::result(result).map(drop)
}
