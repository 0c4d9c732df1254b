//! The standard input of a process that runs: a pipe or a terminal, to which the host writes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

use super::contain::{InputEnd, set_size, watch_for};
use super::{Error, INPUT_PATIENCE, KNOWN_INPUTS, Size};

/// The host's end of the standard input of a process.
#[derive(Debug)]
struct OpenInput {
    end: AsyncFd<OwnedFd>,
    is_terminal: bool,
}

/// The standard input of a process.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// `None` when it was closed, or never was open.
    open: Option<OpenInput>,
    /// The keys of the latest inputs.
    known: VecDeque<String>,
}

impl Slot {
    /// Must be called within a tokio runtime.
    pub(super) fn open(&mut self, end: InputEnd) -> io::Result<()> {
        self.open = Some(OpenInput::new(end)?);
        Ok(())
    }

    /// Closes it: an ended process holds no descriptor.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Types the answer of a terminal to a program that asked for it, unless that would have to wait.
    pub(super) fn answer(&self, bytes: &[u8]) {
        if let Some(open) = self.open.as_ref().filter(|open| open.is_terminal) {
            _ = nix::unistd::write(open.end.get_ref(), bytes);
        }
    }

    /// Returns whether an input with this key came before.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.known.iter().any(|known| known == key)
    }

    /// Notes the key of an input.
    pub(super) fn note(&mut self, key: Option<String>) {
        if key.is_some() && self.known.len() == KNOWN_INPUTS {
            self.known.pop_front();
        }
        self.known.extend(key);
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_terminal)
    }

    /// Writes bytes to the input, which must be open.
    pub(super) async fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        match &self.open {
            Some(open) => write(open, bytes).await,
            None => Ok(()),
        }
    }

    /// Gives the terminal another size.
    pub(super) fn resize(&self, size: Size) -> Result<(), Error> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let set = set_size(open.end.get_ref(), size);
        set.map_err(|error| Error::Failed(format!("resize the terminal: {error}")))
    }
}

impl OpenInput {
    /// Must be called within a tokio runtime.
    fn new(end: InputEnd) -> io::Result<Self> {
        let (end, is_terminal) = match end {
            InputEnd::Pipe(end) => (end, false),
            InputEnd::Terminal(end) => (end, true),
        };
        Ok(Self {
            end: watch_for(end, Interest::WRITABLE)?,
            is_terminal,
        })
    }

    /// Writes bytes. Returns how many, and the reason if these are not all.
    async fn write(&self, bytes: &[u8]) -> (usize, Option<Unwritten>) {
        let until = Instant::now() + INPUT_PATIENCE;
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let Ok(ready) = timeout_at(until, self.end.writable()).await else {
                return (written, Some(Unwritten::NotRead));
            };
            let wrote = ready.and_then(|mut ready| {
                let write = |end: &AsyncFd<OwnedFd>| Ok(nix::unistd::write(end.get_ref(), rest)?);
                ready.try_io(write).unwrap_or(Ok(0))
            });
            match wrote {
                Ok(count) => written += count,
                Err(error) => return (written, Some(Unwritten::Refused(error))),
            }
        }
        (written, None)
    }
}

/// Why bytes were not written.
enum Unwritten {
    NotRead,
    Refused(io::Error),
}

async fn write(open: &OpenInput, bytes: &[u8]) -> Result<(), Error> {
    let (written, failed) = open.write(bytes).await;
    let all = bytes.len();
    let text = match failed {
        None => return Ok(()),
        Some(Unwritten::NotRead) => format!(
            "the program does not read its input: {written} of {all} bytes were written in {} s, and the rest was not",
            INPUT_PATIENCE.as_secs()
        ),
        Some(Unwritten::Refused(error))
            if [Errno::EPIPE, Errno::EIO]
                .map(|errno| Some(errno as i32))
                .contains(&error.raw_os_error()) =>
        {
            format!("the program has closed its input: {written} of {all} bytes were written")
        }
        Some(Unwritten::Refused(error)) => {
            format!("write to the input: {error}: {written} of {all} bytes were written")
        }
    };
    Err(Error::Failed(text))
}
