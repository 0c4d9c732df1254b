//! Writing to the standard input of a process that runs.

use super::running::Process;
use super::{Error, Input, MAX_INPUT, MAX_KEY, State};

/// Ctrl-D, which ends the input of a terminal.
const END: &[u8] = &[4];

impl Process {
    /// Writes to the standard input, ends it, or changes the size of the terminal. Returns the state afterwards. A repeat with the same key
    /// does nothing.
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
        match &input {
            Input::Bytes(bytes) if bytes.len() > MAX_INPUT => {
                return Err(Error::Invalid(format!(
                    "the input has {} bytes, the most is {MAX_INPUT}: put it into a file",
                    bytes.len()
                )));
            }
            Input::Resize(size) => size.check()?,
            Input::Bytes(_) | Input::Close => {}
        }
        // Held while bytes are written, so that those of two callers do not mix.
        let mut slot = self.input.lock().await;
        if key.as_ref().is_some_and(|key| slot.knows(key)) {
            return Ok(self.state());
        }
        if !slot.is_open() {
            let why = match self.state() {
                State::Running | State::Lingering(_) => {
                    "its standard input is not open: only that of a process which was started with an open input or a terminal is, until it is closed"
                }
                State::Exited(_) | State::Lost(_) => "it has ended",
            };
            return Err(Error::Invalid(why.into()));
        }
        slot.note(key);
        match input {
            Input::Bytes(bytes) => slot.write(&bytes).await?,
            Input::Close if slot.is_terminal() => slot.write(END).await?,
            Input::Close => {
                self.contained.close_input();
                slot.close();
            }
            Input::Resize(size) => {
                let Some(drawing) = self.drawing.as_ref().filter(|_| slot.is_terminal()) else {
                    return Err(Error::Invalid("it has no terminal".into()));
                };
                // Before its programs draw for the new size.
                drawing.resize(size).await;
                slot.resize(size)?;
            }
        }
        Ok(self.state())
    }

    /// Returns whether the standard input is open for the host.
    pub(super) fn takes_input(&self) -> bool {
        // Whoever holds it writes to it.
        self.input.try_lock().map_or(true, |slot| slot.is_open())
    }
}
