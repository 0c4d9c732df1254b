//! Why a start gets no sandbox.

use std::io::{self, ErrorKind};

use toolhost_sandbox::PrepareError;

use crate::process::{Error, shortage};

/// Makes the error of a start whose namespaces cannot be made.
pub(super) fn unentered(doing: &str, error: &io::Error) -> Error {
    // The kernel kills the first process if it has no memory for it, and a busy machine keeps it from answering.
    let is_temporary = matches!(
        error.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::UnexpectedEof
            | ErrorKind::WouldBlock
            | ErrorKind::TimedOut
    );
    match shortage::of_namespaces(error) {
        Some(short) => shortage::busy(doing, short, error),
        None if is_temporary => shortage::busy(doing, "this machine is too busy", error),
        None => Error::Failed(format!("{doing}: {error}")),
    }
}

/// Makes the error of a start whose home cannot be made.
#[expect(clippy::needless_pass_by_value, reason = "this maps errors")]
pub(super) fn no_home(error: io::Error) -> Error {
    shortage::failed("cannot make the home of the workspace", &error)
}

/// Makes the error of a start whose sandbox cannot be prepared.
pub(super) fn unprepared(error: &PrepareError) -> Error {
    const DOING: &str = "cannot make the sandbox of the chat";
    let short = match error {
        PrepareError::Short(_) => Some("this machine is short of something"),
        error => shortage::cause(error).and_then(shortage::shortage),
    };
    match short {
        Some(short) => shortage::busy(DOING, short, error),
        None => Error::Failed(error.to_string()),
    }
}
