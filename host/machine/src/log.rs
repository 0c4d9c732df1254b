//! The log of a workspace: the last lines of what its engine and its start-up script wrote.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use toolhost_workspace::LogPage;

/// The most bytes of a log. The oldest lines go first.
pub(crate) const MOST: usize = 64 << 10;

/// The most bytes of a line.
const MOST_OF_LINE: usize = 4 << 10;

/// The last lines about a workspace, in memory. Clones share them.
#[derive(Clone, Default)]
pub struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Lines>,
    /// How many lines there were so far.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Lines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Log {
    /// Adds lines. Control characters become spaces, and a long line is cut.
    pub fn push(&self, text: &str) {
        let mut all = self.0.lines.lock();
        let mut count = *self.0.count.borrow();
        for line in text.lines() {
            count += 1;
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
        self.0.count.send_replace(count);
    }

    /// Returns the lines, each with its end.
    pub fn text(&self) -> String {
        self.after(0).text
    }

    /// Returns the lines that came after so many. A reader that had more than there are read the log of an earlier host, and gets all.
    pub fn after(&self, after: u64) -> LogPage {
        let all = self.0.lines.lock();
        let next = *self.0.count.borrow();
        let new = next.checked_sub(after).unwrap_or(next);
        let new = usize::try_from(new).unwrap_or(usize::MAX);
        let known = all.lines.len().saturating_sub(new);
        let mut text = String::new();
        for line in all.lines.iter().skip(known) {
            _ = writeln!(text, "{line}");
        }
        LogPage { text, next }
    }

    /// Waits until there are lines for a reader that had so many.
    pub async fn until_after(&self, after: u64) {
        let mut count = self.0.count.subscribe();
        if count.wait_for(|count| *count != after).await.is_err() {
            std::future::pending().await
        }
    }

    /// Returns the last line; empty if there is none.
    pub fn last(&self) -> String {
        self.0
            .lines
            .lock()
            .lines
            .back()
            .cloned()
            .unwrap_or_default()
    }
}

/// Adds the output of a process to a log, line by line.
pub(crate) struct Output<'a> {
    log: &'a Log,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl<'a> Output<'a> {
    pub(crate) fn new(log: &'a Log) -> Self {
        Self {
            log,
            begun: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let end = self.begun.iter().rposition(|byte| *byte == b'\n');
        let end = match end {
            Some(end) => end + 1,
            None if self.begun.len() > MOST_OF_LINE => self.begun.len(),
            None => return,
        };
        let lines: Vec<_> = self.begun.drain(..end).collect();
        self.log.push(&String::from_utf8_lossy(&lines));
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        self.log.push(&String::from_utf8_lossy(&self.begun));
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.lines.lock().bytes;
        formatter
            .debug_struct("Log")
            .field("bytes", &bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

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

    #[tokio::test]
    async fn a_reader_gets_each_line_once_and_waits_for_the_next() {
        let log = Log::default();
        log.push("one\ntwo");
        let first = log.after(0);
        assert_eq!((first.text.as_str(), first.next), ("one\ntwo\n", 2));
        let mut waits = std::pin::pin!(log.until_after(first.next));
        assert_eq!(waits.as_mut().now_or_never(), None);
        let mut output = Output::new(&log);
        output.push(b"thr");
        assert_eq!(waits.as_mut().now_or_never(), None);
        output.push("ee\nf\u{fc}n".as_bytes());
        waits.await;
        assert_eq!(log.after(first.next).text, "three\n");
        drop(output);
        let last = log.after(3);
        assert_eq!((last.text.as_str(), last.next), ("f\u{fc}n\n", 4));
        assert_eq!(log.after(4).text, "");
        // Another host wrote what this reader had.
        log.until_after(9).await;
        assert_eq!(log.after(9), log.after(0));
    }
}
