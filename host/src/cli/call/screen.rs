//! The output of a call on a terminal, with a line below it that shows the progress. Output is not trusted: of its control
//! characters, only the ends of lines, tabs and carriage returns reach the terminal.

use std::time::Instant;

use crate::cli::output;
use crate::cli::table::{cut, duration, width};
use toolhost_http::process_values::unfinished;
use toolhost_plugin::{shown, shown_up_to};

/// Returns the terminal to the begin of the line, and removes that.
const CLEAR: &str = "\r\u{1b}[K";

/// How much of the output of a call was shown while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Streamed {
    pub(super) any: bool,
    /// Whether some of it was not shown.
    pub(super) lost: bool,
}

/// The output of a call on a terminal.
pub(super) struct Screen {
    tool: String,
    began: Instant,
    /// Whether the next character begins a line.
    at_start: bool,
    /// Whether the line with the progress is there.
    has_line: bool,
    /// What the plugin reports.
    report: Option<String>,
    /// The first bytes of a character whose rest has not come.
    begun: Vec<u8>,
    streamed: Streamed,
}

impl Screen {
    pub(super) fn new(tool: &str) -> Self {
        Self {
            tool: shown(tool),
            began: Instant::now(),
            at_start: true,
            has_line: false,
            report: None,
            begun: Vec::new(),
            streamed: Streamed::default(),
        }
    }

    /// Shows output.
    pub(super) fn output(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.len() - unfinished(&self.begun);
        let bytes: Vec<_> = self.begun.drain(..whole).collect();
        self.write(&escaped(&String::from_utf8_lossy(&bytes)));
        self.streamed.any = true;
    }

    /// Notes that output is missing.
    pub(super) fn lost(&mut self) {
        self.streamed.lost = true;
    }

    /// Notes what the plugin reports.
    pub(super) fn progress(&mut self, done: f64, total: Option<f64>, message: Option<&str>) {
        let of = total.map_or_else(String::new, |total| format!("/{total}"));
        let message = message.map_or_else(String::new, |message| format!(" {}", shown(message)));
        self.report = Some(format!("{done}{of}{message}"));
        if self.has_line {
            self.tick();
        }
    }

    /// Shows the progress, unless the output is in the middle of a line.
    pub(super) fn tick(&mut self) {
        if !self.at_start {
            return;
        }
        let report = self.report.as_ref();
        let report = report.map_or_else(String::new, |report| format!(": {report}"));
        let passed = duration(std::time::Duration::from_secs(
            self.began.elapsed().as_secs(),
        ));
        let text = format!("{} runs for {passed}{report}; Ctrl-C cancels it", self.tool);
        // The last column stays free: a character in it moves some terminals to the next line.
        let text = cut(&text, width().unwrap_or(80).saturating_sub(1));
        self.has_line = true;
        put(&format!("{CLEAR}{text}"));
    }

    /// Removes the line with the progress.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.has_line) {
            put(CLEAR);
        }
    }

    /// Shows a line of this program.
    pub(super) fn say(&mut self, text: &str) {
        self.clear();
        self.end_line();
        put(&format!("toolhost: {text}\n"));
    }

    /// Ends the output, and returns how much of it was shown.
    pub(super) fn finish(mut self) -> Streamed {
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            self.write(&String::from_utf8_lossy(&begun));
        }
        self.clear();
        self.end_line();
        self.streamed
    }

    fn end_line(&mut self) {
        if !std::mem::replace(&mut self.at_start, true) {
            put("\n");
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear();
        self.at_start = text.ends_with('\n');
        put(text);
    }
}

/// Writes to the terminal. If that is gone, the reply cannot be written either, and says so.
fn put(text: &str) {
    _ = output::write(text.as_bytes());
}

/// Escapes control and invisible characters but the ends of lines, tabs and carriage returns.
pub(super) fn escaped(text: &str) -> String {
    let kept = ['\n', '\r', '\t'];
    let parts = text.split_inclusive(kept).map(|part| {
        let end = part.chars().next_back().filter(|c| kept.contains(c));
        let rest = part.strip_suffix(kept).unwrap_or(part);
        let mut shown = shown_up_to(rest, usize::MAX);
        shown.extend(end);
        shown
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_draws_nothing_but_text() {
        let text = "a\tb\r\n\u{1b}]0;title\u{7}\u{1b}[2Jc\u{202e}";
        let expected = "a\tb\r\n\\u{1b}]0;title\\u{7}\\u{1b}[2Jc\\u{202e}";
        assert_eq!(escaped(text), expected);
        assert_eq!(escaped(""), "");
    }
}
