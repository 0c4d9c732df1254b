//! The standard input of a process that runs: a pipe or a terminal, to which the host writes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

use super::contain::{InputEnd, watch_for};
use super::running::Process;
use super::{Error, INPUT_PATIENCE, Input, KNOWN_INPUTS, MAX_INPUT, MAX_KEY, Size, State};

/// Ctrl-D, which ends the input of a terminal.
const END: &[u8] = &[4];

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

    /// Notes the key of an input. Returns whether it was known.
    fn knows(&mut self, key: Option<String>) -> bool {
        let Some(key) = key else {
            return false;
        };
        if self.known.contains(&key) {
            return true;
        }
        if self.known.len() == KNOWN_INPUTS {
            self.known.pop_front();
        }
        self.known.push_back(key);
        false
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

impl Process {
    /// Writes to the standard input, ends it, or changes the size of the terminal. Returns the state afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the process has no open standard input, or no terminal; [`Error::Failed`] if not all bytes were written, with
    /// their number.
    pub async fn input(&self, input: Input, key: Option<String>) -> Result<State, Error> {
        if key.as_ref().is_some_and(|key| key.len() > MAX_KEY) {
            let text = format!("the key of an input has at most {MAX_KEY} bytes");
            return Err(Error::Invalid(text));
        }
        if let Input::Bytes(bytes) = &input
            && bytes.len() > MAX_INPUT
        {
            return Err(Error::Invalid(format!(
                "the input has {} bytes, the most is {MAX_INPUT}: put it into a file",
                bytes.len()
            )));
        }
        // Held while bytes are written, so that those of two callers do not mix.
        let mut slot = self.input.lock().await;
        if slot.knows(key) {
            return Ok(self.state());
        }
        let Some(open) = &slot.open else {
            let why = match self.state() {
                State::Running | State::Lingering(_) => {
                    "its standard input is not open: only that of a process which was started with an open input or a terminal is, until it is closed"
                }
                State::Exited(_) | State::Lost(_) => "it has ended",
            };
            return Err(Error::Invalid(why.into()));
        };
        match input {
            Input::Bytes(bytes) => write(open, &bytes).await?,
            Input::Close if open.is_terminal => write(open, END).await?,
            Input::Close => {
                self.contained.close_input();
                slot.close();
            }
            Input::Resize(size) => self.resize(open, size)?,
        }
        Ok(self.state())
    }

    /// Returns whether the standard input is open for the host.
    pub(super) fn takes_input(&self) -> bool {
        // Whoever holds it writes to it.
        self.input
            .try_lock()
            .map_or(true, |slot| slot.open.is_some())
    }

    fn resize(&self, open: &OpenInput, size: Size) -> Result<(), Error> {
        size.check()?;
        let mut progress = self.progress();
        let Some(screen) = progress.screen.as_mut().filter(|_| open.is_terminal) else {
            return Err(Error::Invalid("it has no terminal".into()));
        };
        let window = Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let set = tcsetwinsize(open.end.get_ref(), window);
        set.map_err(|error| Error::Failed(format!("resize the terminal: {error}")))?;
        screen.resize(size);
        Ok(())
    }
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
