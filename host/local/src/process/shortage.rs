//! Shortages: errors that say that this machine has no room now, told from errors that say that something cannot be done at all.

use std::io;

use nix::errno::Errno;

use super::Error;

/// Returns the thing that this machine is short of, with a way to see or raise its limit; `None` if the error says something else.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    match Errno::from_raw(errno(error)?) {
        Errno::EAGAIN => {
            Some("no processes are left (see `ulimit -u`, and pids.max of the cgroup)")
        }
        Errno::EMFILE => Some("this host has no descriptors left (see `ulimit -n`)"),
        Errno::ENFILE => Some("this machine has no descriptors left (see fs.file-max)"),
        Errno::ENOMEM | Errno::ENOBUFS => Some("no memory is left"),
        Errno::ETOOMANYREFS => {
            Some("too many descriptors are on their way between processes of this user")
        }
        _ => None,
    }
}

/// As [`shortage`], for an error of making namespaces. The kernel reports some of its limits as a full disk there.
pub(super) fn of_namespaces(error: &io::Error) -> Option<&'static str> {
    match errno(error).map(Errno::from_raw) {
        Some(Errno::ENOSPC) => Some(
            "no namespaces or mounts are left (see user.max_user_namespaces and the like, and fs.mount-max)",
        ),
        _ => shortage(error),
    }
}

/// Makes the error of a start that failed while `doing` something.
pub(super) fn failed(doing: &str, error: &io::Error) -> Error {
    match shortage(error) {
        Some(short) => busy(doing, short, error),
        None => Error::Failed(format!("{doing}: {error}")),
    }
}

/// Makes the error of a start for which there is no room.
pub(super) fn busy(doing: &str, short: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Busy(format!(
        "{doing}: {short}: {error}; nothing was started: try again later"
    ))
}

/// Returns the error of the system that caused an error.
pub(super) fn cause<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    match error.downcast_ref() {
        Some(error) => Some(error),
        None => cause(error.source()?),
    }
}

/// An error that a process with another spawner reported, with the number of its cause.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Reported {
    pub(super) errno: i32,
    pub(super) text: String,
}

/// Returns the number of an error of the system.
fn errno(error: &io::Error) -> Option<i32> {
    let reported = || error.get_ref()?.downcast_ref::<Reported>();
    error
        .raw_os_error()
        .or_else(|| reported().map(|reported| reported.errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_told_from_a_refusal() {
        let of = |errno: Errno| shortage(&errno.into()).is_some();
        for errno in [
            Errno::EAGAIN,
            Errno::EMFILE,
            Errno::ENFILE,
            Errno::ENOMEM,
            Errno::ENOBUFS,
            Errno::ETOOMANYREFS,
        ] {
            assert!(of(errno), "{errno}");
        }
        for errno in [
            Errno::EPERM,
            Errno::ENOSYS,
            Errno::EINVAL,
            Errno::ENOSPC,
            Errno::EACCES,
        ] {
            assert!(!of(errno), "{errno}");
        }
        assert!(of_namespaces(&Errno::ENOSPC.into()).is_some());
        assert!(of_namespaces(&Errno::EPERM.into()).is_none());
        let reported = Reported {
            errno: Errno::EAGAIN as i32,
            text: "cannot mount".into(),
        };
        assert!(shortage(&io::Error::other(reported)).is_some());
        assert!(shortage(&io::Error::other("EAGAIN")).is_none());
    }

    #[test]
    fn the_cause_is_found_below_other_errors() {
        let unread = toolhost_sandbox::PrepareError::Unread {
            path: "/usr".into(),
            error: Errno::EMFILE.into(),
        };
        let found = cause(&unread).and_then(io::Error::raw_os_error);
        assert_eq!(found, Some(Errno::EMFILE as i32));
    }
}
