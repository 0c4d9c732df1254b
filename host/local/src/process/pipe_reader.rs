//! Reading the output of a command from its pipe, in large pieces where there is much of it.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use bytes::Bytes;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::running::Process;

/// The size of a pipe as the kernel makes it, in bytes.
const PIPE: usize = 64 << 10;

/// The size of the pipe of a command that writes faster than it is read, in bytes.
const GROWN_PIPE: i32 = 1 << 20;

/// How many pipes may be grown at once: the kernel's quota for pipes is per user, and commands have some of it, too.
const MOST_GROWN: usize = 16;

/// The most that is read at once, in bytes.
const READ: usize = 256 << 10;

/// PipeBudget for grown pipes, shared by all processes of a registry.
#[derive(Clone, Debug)]
pub(super) struct PipeBudget(Arc<Semaphore>);

impl PipeBudget {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_GROWN)))
    }
}

/// The read end of a command's output.
#[derive(Debug)]
pub(super) struct PipeReader {
    pipe: pipe::Receiver,
    budget: PipeBudget,
    /// Held while the pipe is grown, which it stays until it is closed.
    grown: Option<OwnedSemaphorePermit>,
}

/// What was in the pipe.
pub(super) enum Taken {
    /// Nothing yet.
    Nothing,
    /// Bytes that are in memory now; this many were written in all.
    Pushed(u64),
    /// Bytes that are to be saved, and then to be pushed.
    ToSave(Bytes),
    /// Its end.
    End,
}

thread_local! {
    /// One buffer for each thread: a thousand idle processes hold none.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl PipeReader {
    pub(super) fn new(pipe: pipe::Receiver, budget: PipeBudget) -> Self {
        Self {
            pipe,
            budget,
            grown: None,
        }
    }

    /// Waits until there is something to take. Cancel safe.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.pipe.readable().await
    }

    /// Takes what is there.
    pub(super) fn take(&mut self, process: &Process) -> io::Result<Taken> {
        BUFFER.with_borrow_mut(|buffer| {
            let size = if self.grown.is_some() { READ } else { PIPE };
            if buffer.len() < size {
                buffer.resize(size, 0);
            }
            let room = buffer.get_mut(..size).unwrap_or_default();
            match self.pipe.try_read(room) {
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

    /// Makes the pipe larger, if there is room. One that stays as it is works as well, only slower.
    fn grow(&mut self) {
        if self.grown.is_none()
            && let Ok(permit) = Arc::clone(&self.budget.0).try_acquire_owned()
            && fcntl(self.pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(GROWN_PIPE)).is_ok()
        {
            self.grown = Some(permit);
        }
    }
}
