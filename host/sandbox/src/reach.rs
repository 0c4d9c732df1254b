//! Paths that commands cannot reach in any case.

use std::io;

use rustix::io::Errno;

/// Returns whether an error says that commands cannot reach a path, so that it needs no rule: the path does not exist, this user may not
/// reach it, or its network file system is gone.
pub(crate) fn is_out_of_reach(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| {
        [
            Errno::NOENT,
            Errno::NOTDIR,
            Errno::LOOP,
            Errno::ACCESS,
            Errno::NOTCONN,
            Errno::STALE,
        ]
        .contains(&errno)
    })
}
