//! The read end of the output of a kept command.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{SpliceFFlags, splice};

/// The read end of the output of a kept command: a pipe, to which the output of a terminal is moved first.
///
/// `splice` moves bytes from a pipe to a file at once, but not from a terminal to a file. Whoever reads is killed between two moves at
/// worst, and the next reader finds the bytes in the pipe.
#[derive(Debug)]
pub(in crate::process) struct Outlet {
    pipe: OwnedFd,
    terminal: Option<Line>,
}

/// A terminal whose output goes through a pipe.
#[derive(Debug)]
pub(in crate::process) struct Line {
    /// The side of the host.
    pub(in crate::process::contain) terminal: OwnedFd,
    /// The write end of the pipe.
    pub(in crate::process::contain) writer: OwnedFd,
}

impl Outlet {
    pub(in crate::process) fn new(pipe: OwnedFd, terminal: Option<Line>) -> Self {
        Self { pipe, terminal }
    }

    /// Returns the descriptor that is readable when there is more.
    pub(in crate::process) fn source(&self) -> &OwnedFd {
        self.terminal
            .as_ref()
            .map_or(&self.pipe, |line| &line.terminal)
    }

    /// Returns the pipe.
    pub(in crate::process) fn pipe(&self) -> &OwnedFd {
        &self.pipe
    }

    /// Returns the terminal whose output goes through the pipe, if it is one.
    pub(in crate::process::contain) fn line(&self) -> Option<&Line> {
        self.terminal.as_ref()
    }

    /// Moves the output of a terminal into the pipe as far as that takes it, and does not wait for any. Returns whether the terminal has ended.
    fn pull(&self, most: usize) -> Result<bool, Errno> {
        let Some(Line { terminal, writer }) = &self.terminal else {
            return Ok(false);
        };
        let flags = SpliceFFlags::SPLICE_F_NONBLOCK;
        loop {
            match splice(terminal, None, writer, None, most, flags) {
                Ok(1..) | Err(Errno::EAGAIN) => return Ok(false),
                // No program has the terminal any more.
                Ok(0) | Err(Errno::EIO) => return Ok(true),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Has `take` take bytes from the pipe, and does not wait for any. `take` returns 0 at the end of the pipe.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if there are none.
    pub(super) fn with_bytes(
        &self,
        most: usize,
        mut take: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let has_ended = self.pull(most)?;
        match take(self.pipe.as_fd()) {
            Err(Errno::EAGAIN) if has_ended => Ok(0),
            taken => taken,
        }
    }
}
