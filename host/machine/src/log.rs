//! The log of a workspace: the last lines of what its engine and its start-up script wrote.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;

/// The most bytes of a log. The oldest lines go first.
const MOST: usize = 64 << 10;

/// The most bytes of a line.
const MOST_OF_LINE: usize = 4 << 10;

/// The last lines about a workspace, in memory. Clones share them.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Log {
    /// Adds lines. Control characters become spaces, and a long line is cut.
    pub fn push(&self, text: &str) {
        let mut all = self.0.lock();
        for line in text.lines() {
            let end = line.floor_char_boundary(MOST_OF_LINE);
            let line = line.get(..end).unwrap_or_default();
            let line = line.replace(|c: char| c.is_control() && c != '\t', " ");
            all.bytes += line.len() + 1;
            all.lines.push_back(line);
        }
        while all.bytes > MOST
            && let Some(oldest) = all.lines.pop_front()
        {
            all.bytes -= oldest.len() + 1;
        }
    }

    /// Returns the lines, each with its end.
    pub fn text(&self) -> String {
        let all = self.0.lock();
        all.lines.iter().fold(String::new(), |mut text, line| {
            _ = writeln!(text, "{line}");
            text
        })
    }

    /// Returns the last line; empty if there is none.
    pub fn last(&self) -> String {
        self.0.lock().lines.back().cloned().unwrap_or_default()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.lock().bytes;
        formatter
            .debug_struct("Log")
            .field("bytes", &bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_last_lines() {
        let log = Log::default();
        assert_eq!((log.text(), log.last()), (String::new(), String::new()));
        log.push("one\ntwo \u{1b}[2J\n");
        assert_eq!(log.text(), "one\ntwo  [2J\n");
        let long = "ä".repeat(MOST_OF_LINE);
        for _ in 0..2 * MOST / MOST_OF_LINE {
            log.push(&long);
        }
        log.push("last");
        let text = log.text();
        assert!(text.len() <= MOST && text.len() > MOST - 2 * MOST_OF_LINE);
        assert!(!text.contains("one") && text.ends_with("ä\nlast\n"));
        assert_eq!(log.last(), "last");
    }
}
