//! Reading the output of a command from its pipe, in large pieces where there is much of it.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::contain::{Moved, Output, watch};
use super::kept_pipe::KeptPipe;
use super::running::Process;

/// The size of a pipe as the kernel makes it, in bytes.
const PIPE: usize = 64 << 10;

/// The size of the pipe of a command that writes faster than it is read, in bytes.
const GROWN_PIPE: i32 = 1 << 20;

/// The most pipes of a registry that are grown at once: the kernel's quota for pipes is per user, and commands need some, too.
pub(super) const MOST_GROWN: usize = 16;

/// The most that is read at once, in bytes.
const READ: usize = 256 << 10;

/// The read end of a command's output.
#[derive(Debug)]
pub(super) struct PipeReader {
    source: Source,
    permits: Arc<Semaphore>,
    /// Held while the pipe is grown, which it stays until it is closed.
    grown: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Source {
    Pipe(pipe::Receiver),
    Terminal(AsyncFd<OwnedFd>),
    Kept(KeptPipe),
}

/// The result of a read.
pub(super) enum Taken {
    /// The pipe is empty for now.
    Nothing,
    /// Bytes were added to the memory; this many were written in all.
    Pushed(u64),
    /// Bytes that are to be saved, and then to be pushed.
    ToSave(Bytes),
    /// The end of the pipe.
    End,
}

thread_local! {
    /// One buffer for each thread: a thousand idle processes hold none.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl PipeReader {
    /// Reads from a pipe, which may be grown while there is a permit. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// If the pipe of a kept command cannot be watched.
    pub(super) fn new(output: Output, permits: Arc<Semaphore>) -> io::Result<Self> {
        let source = match output {
            Output::Pipe(pipe) => Source::Pipe(pipe),
            Output::Terminal(terminal) => Source::Terminal(watch(terminal)?),
            Output::Kept {
                outlet,
                spool,
                supervisor,
            } => Source::Kept(KeptPipe::new(outlet, spool, supervisor)?),
        };
        Ok(Self {
            source,
            permits,
            grown: None,
        })
    }

    /// Waits until the pipe has bytes or has ended. Cancel safe.
    pub(super) async fn readable(&self) -> io::Result<()> {
        match &self.source {
            Source::Pipe(pipe) => pipe.readable().await,
            // Only a read finds out that there is nothing.
            Source::Terminal(terminal) => {
                let ready = terminal.readable().await;
                ready.map(|mut ready| ready.retain_ready())
            }
            Source::Kept(kept) => kept.readable().await,
        }
    }

    /// Takes the bytes that are in the pipe, up to a limit.
    pub(super) async fn take(&mut self, process: &Process) -> io::Result<Taken> {
        let size = if self.grown.is_some() { READ } else { PIPE };
        let kept = match &mut self.source {
            Source::Pipe(_) | Source::Terminal(_) => return self.take_now(size, process),
            Source::Kept(kept) => kept,
        };
        let saved = match process.saved.takes_more() {
            true => process.saved.written(),
            // No more is saved, so no more is needed for that.
            false => u64::MAX,
        };
        let bytes = match kept.take(size, saved).await? {
            Moved::Nothing => return Ok(Taken::Nothing),
            Moved::End => return Ok(Taken::End),
            Moved::Bytes(bytes) => bytes,
        };
        if bytes.len() == PIPE {
            self.grow();
        }
        Ok(match process.saved.takes_more() {
            true => Taken::ToSave(bytes),
            false => Taken::Pushed(process.push(&bytes)),
        })
    }

    fn take_now(&mut self, size: usize, process: &Process) -> io::Result<Taken> {
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < size {
                buffer.resize(size, 0);
            }
            let room = buffer.get_mut(..size).unwrap_or_default();
            let read = match &self.source {
                Source::Pipe(pipe) => pipe.try_read(room),
                Source::Terminal(terminal) => read_terminal(terminal, room),
                Source::Kept(_) => return Ok(Taken::Nothing),
            };
            match read {
                Ok(0) => Ok(Taken::End),
                Ok(count) => {
                    if count == PIPE {
                        self.grow();
                    }
                    let bytes = buffer.get(..count).unwrap_or_default();
                    Ok(if process.saved.takes_more() {
                        Taken::ToSave(Bytes::copy_from_slice(bytes))
                    } else {
                        Taken::Pushed(process.push(bytes))
                    })
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Taken::Nothing),
                Err(error) => Err(error),
            }
        })
    }

    /// Makes the pipe larger, if there is a permit. A smaller pipe works as well, only slower.
    fn grow(&mut self) {
        let pipe = match &self.source {
            Source::Pipe(pipe) => pipe.as_fd(),
            Source::Terminal(_) => return,
            Source::Kept(kept) => kept.pipe().as_fd(),
        };
        if self.grown.is_none()
            && let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned()
            && fcntl(pipe, FcntlArg::F_SETPIPE_SZ(GROWN_PIPE)).is_ok()
        {
            self.grown = Some(permit);
        }
    }
}

/// Reads what a terminal has; nothing at its end, which is when no program has it any more.
fn read_terminal(terminal: &AsyncFd<OwnedFd>, room: &mut [u8]) -> io::Result<usize> {
    // Ready: otherwise, the caller would not read.
    let ready = terminal.readable().now_or_never();
    let Some(mut ready) = ready.transpose()? else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let read = |terminal: &AsyncFd<OwnedFd>| match nix::unistd::read(terminal.get_ref(), room) {
        Err(Errno::EIO) => Ok(0),
        read => Ok(read?),
    };
    let read = ready.try_io(read);
    read.unwrap_or_else(|_| Err(io::ErrorKind::WouldBlock.into()))
}
