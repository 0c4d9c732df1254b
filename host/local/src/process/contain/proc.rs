//! Processes of this machine, as `/proc` shows them, and signals to one of them.

use std::fs;
use std::io;

use nix::sys::signal::Signal;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

pub use toolhost_state::proc::lists_children;
pub(super) use toolhost_state::proc::{Status, children, is_alive, status};

/// Returns the child of a process that has this number in the namespace of the chat, one below that of the host.
pub(super) fn child_within(parent: i32, number: i32) -> Option<i32> {
    children(parent)
        .into_iter()
        .find(|pid| number_within(*pid) == Some(number))
}

/// Returns whether a process is in the namespace of a chat.
pub(super) fn is_within(pid: i32) -> bool {
    number_within(pid).is_some()
}

/// Returns the number of a process in the namespace one below that of the host.
pub(super) fn number_within(pid: i32) -> Option<i32> {
    // The name of the process may not be UTF-8.
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Sends a signal to a process whose status passes a check. No such process is no error.
///
/// The descriptor names one process for good, and the status is read after it was opened: a process to which the id was given
/// anew is signalled only if it passes as well.
pub(super) fn signal(
    pid: i32,
    signal: Signal,
    is_target: impl FnOnce(Status) -> bool,
) -> io::Result<()> {
    let raw = rustix::process::Signal::from_named_raw(signal as i32);
    if let (Some(raw), Some(target)) = (raw, Pid::from_raw(pid))
        && let Ok(pidfd) = pidfd_open(target, PidfdFlags::empty())
        && status(pid).is_some_and(is_target)
    {
        match pidfd_send_signal(&pidfd, raw) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
