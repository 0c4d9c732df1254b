//! Observations of processes: their use and the last line of their output.

use std::sync::Arc;

use super::Registry;
use crate::process::contain::Look;
use crate::process::running::Process;
use crate::process::{Error, MAX_OBSERVED, Observation, ProcessName, Usage};

/// The last bytes of an output in which its last line is looked for.
const LAST: usize = 4096;

impl Registry {
    /// Returns what processes use and last wrote; unknown ones are left out. It counts as a use of no chat.
    ///
    /// All processes share one look at the system, on a thread for blocking work.
    ///
    /// # Errors
    ///
    /// If the look failed.
    pub(crate) async fn observe(
        &self,
        mut names: Vec<ProcessName>,
    ) -> Result<Vec<Observation>, Error> {
        names.truncate(MAX_OBSERVED);
        let found = self.known(names);
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let observing = tokio::task::spawn_blocking(move || {
            let mut look = Look::default();
            let observations = found.into_iter().map(|(name, process)| Observation {
                usage: process.usage(&mut look),
                last_line: process.last_line(),
                process: name,
            });
            observations.collect()
        });
        observing
            .await
            .map_err(|error| Error::Failed(error.to_string()))
    }

    /// Returns the processes that these names name.
    fn known(&self, names: Vec<ProcessName>) -> Vec<(ProcessName, Arc<Process>)> {
        let chats = self.chats();
        let found = names.into_iter().filter_map(|name| {
            let chat = chats.by_owner.get(&name.owner)?;
            let process = Arc::clone(chat.find(&name.id)?);
            Some((name, process))
        });
        found.collect()
    }
}

impl Process {
    /// Returns the use of the process; `None` if nothing of it lives.
    fn usage(&self, look: &mut Look) -> Option<Usage> {
        self.state().is_live().then(|| self.contained.usage(look))?
    }

    /// Returns the last line of the output in memory that is not blank.
    fn last_line(&self) -> Option<String> {
        let bytes = self.progress().capture.last(LAST);
        last_line(&bytes)
    }
}

/// Returns the last line that is not blank. Of a line that was written over after a carriage return, as a progress bar is, only the
/// last text counts.
fn last_line(bytes: &[u8]) -> Option<String> {
    let text = anstream::adapter::strip_bytes(bytes).into_vec();
    let text = String::from_utf8_lossy(&text);
    text.rsplit(['\n', '\r']).find_map(Observation::line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_what_a_terminal_shows_last() {
        for (output, line) in [
            ("", None),
            ("\n \t\n", None),
            ("one\ntwo\n\n", Some("two")),
            ("one\r\n", Some("one")),
            ("done\n 10 %\r 20 %\r", Some("20 %")),
            ("\u{1b}[31mred\u{1b}[0m\n\u{1b}[2K", Some("red")),
            ("\u{1b}]0;title\u{7}text", Some("text")),
            ("a\u{202e}b\u{0}c", Some("abc")),
        ] {
            assert_eq!(last_line(output.as_bytes()).as_deref(), line, "{output:?}");
        }
        let broken = last_line(b"\xff\xfe\n\x80abc").unwrap();
        assert!(broken.ends_with("abc"), "{broken:?}");
        let long = "x".repeat(10_000);
        assert_eq!(last_line(long.as_bytes()).unwrap().len(), 200);
    }
}
