//! The lines that guests write to the operator's log. No output of a guest reaches the log in another way.
//!
//! Standard error is held back for a while: if the guest fails, its last lines are the reason, and become a part of the one record
//! of that failure. Otherwise they are written as they are.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::Level;

use super::settings::Settings;
use toolhost_call::audit::Trail;
use toolhost_call::metrics::LimitKind;

/// The longest single line, in bytes; a longer one is cut.
const MAX_LINE: usize = 8 * 1024;

/// How much of standard error is held back: so many lines and so many bytes, and each line for so long. A line that no longer fits
/// is written; time is looked at only when another line comes.
const HELD_LINES: usize = 32;
const HELD_BYTES: usize = 4 * 1024;
const HELD_FOR: Duration = Duration::from_secs(10);

/// Writes the lines of one call to the log, up to a limit for all of them together.
///
/// Clones share the limit: the contract's log, standard output and standard error are one account.
#[derive(Clone, Debug)]
pub(crate) struct LineLog {
    plugin: Arc<str>,
    chat: Arc<str>,
    call: Arc<str>,
    account: Arc<Mutex<Account>>,
    settings: Arc<Settings>,
}

#[derive(Debug)]
struct Account {
    left: usize,
    left_out: u64,
    limit: usize,
    trail: Trail,
    held: VecDeque<(Instant, String)>,
}

impl LineLog {
    /// Makes a log for one call of a plugin that may take `limit` bytes, and in which its secrets are not shown.
    pub(crate) fn new(trail: &Trail, settings: &Arc<Settings>, limit: usize) -> Self {
        let whose = trail.call.as_ref();
        Self {
            plugin: Arc::clone(&trail.plugin),
            chat: whose.map_or("", |(chat, _)| chat.as_str()).into(),
            call: whose.map_or("", |(_, call)| call.as_str()).into(),
            settings: Arc::clone(settings),
            account: Arc::new(Mutex::new(Account {
                left: limit,
                left_out: 0,
                limit,
                trail: trail.clone(),
                held: VecDeque::new(),
            })),
        }
    }

    /// Writes one line, with control characters escaped. Text beyond the limit is counted, not written.
    pub(crate) fn line(&self, level: Level, text: &str) {
        let Some(text) = self.charged(text) else {
            return;
        };
        // Lines keep their order.
        let held = std::mem::take(&mut self.account.lock().held);
        held.iter()
            .for_each(|(_, line)| self.write(Level::WARN, line));
        self.write(level, &text);
    }

    /// Holds back one line of standard error, which is charged as [`LineLog::line`] charges it. Empty lines are left out.
    pub(crate) fn hold(&self, text: &str) {
        let Some(text) = self.charged(text).filter(|text| !text.trim().is_empty()) else {
            return;
        };
        let now = Instant::now();
        let mut written = Vec::new();
        {
            let held = &mut self.account.lock().held;
            held.push_back((now, text));
            let mut bytes: usize = held.iter().map(|(_, line)| line.len()).sum();
            while let Some((since, oldest)) = held.front() {
                let is_old = now.saturating_duration_since(*since) > HELD_FOR;
                if held.len() <= HELD_LINES && bytes <= HELD_BYTES && !is_old {
                    break;
                }
                bytes -= oldest.len();
                written.extend(held.pop_front());
            }
        }
        written
            .iter()
            .for_each(|(_, line)| self.write(Level::WARN, line));
    }

    /// Takes the lines that are held back, the oldest first: they are not written.
    pub(crate) fn take_held(&self) -> Vec<String> {
        let held = std::mem::take(&mut self.account.lock().held);
        held.into_iter().map(|(_, line)| line).collect()
    }

    /// Writes the one record of a failed call: its cause in one line, and what else is known in fields. The texts are escaped before.
    pub(crate) fn failure(&self, cause: &str, stderr: Option<&str>, backtrace: Option<&str>) {
        let (plugin, chat, call) = (&*self.plugin, &*self.chat, &*self.call);
        tracing::warn!(target: "toolhost::guest::failure", parent: None, plugin, chat, call, stderr, backtrace, "{cause}");
    }

    /// Charges a line to the account, and returns it as it is written, if it fits.
    fn charged(&self, text: &str) -> Option<String> {
        // Secrets are removed before the line is cut: else the beginning of one would stay.
        let text = text
            .get(..text.floor_char_boundary(2 * MAX_LINE))
            .unwrap_or(text);
        let text = self.settings.redacted(text);
        let text = text
            .get(..text.floor_char_boundary(MAX_LINE))
            .unwrap_or(&text);
        let mut account = self.account.lock();
        // An empty line costs something too: a million of them would fill a log as well.
        let cost = text.len() + 1;
        if cost > account.left {
            account.left = 0;
            account.left_out += cost as u64;
            return None;
        }
        account.left -= cost;
        drop(account);
        Some(text.chars().flat_map(escape).collect())
    }

    fn write(&self, level: Level, text: &str) {
        write(level, (&self.plugin, &self.chat, &self.call), text);
    }
}

/// Writes a line of a guest. It says which call it is of, and has no fields of the spans around it: there would be ten.
fn write(level: Level, (plugin, chat, call): (&str, &str, &str), text: &str) {
    match level {
        Level::ERROR => {
            tracing::error!(target: "toolhost::guest", parent: None, plugin, chat, call, "{text}");
        }
        Level::WARN => {
            tracing::warn!(target: "toolhost::guest", parent: None, plugin, chat, call, "{text}");
        }
        Level::INFO => {
            tracing::info!(target: "toolhost::guest", parent: None, plugin, chat, call, "{text}");
        }
        _ => tracing::debug!(target: "toolhost::guest", parent: None, plugin, chat, call, "{text}"),
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let plugin = &*self.trail.plugin;
        let whose = self.trail.call.as_ref();
        let chat = whose.map_or("", |(chat, _)| chat.as_str());
        let call = whose.map_or("", |(_, call)| call.as_str());
        for (_, line) in &self.held {
            write(Level::WARN, (plugin, chat, call), line);
        }
        if self.left_out > 0 {
            let bytes = self.left_out;
            self.trail.limit(LimitKind::Log);
            self.trail.metrics.log_left_out(plugin, bytes);
            let reached = LimitKind::Log.reached(self.limit as u64);
            tracing::warn!(target: "toolhost::guest", parent: None, plugin, chat, call, bytes, "{reached}: the rest was left out");
        }
    }
}

/// A tab is allowed in a log. A character that moves a cursor, hides text or starts a new line is escaped.
fn escape(c: char) -> impl Iterator<Item = char> {
    let dangerous = (c.is_control() && c != '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let (plain, escaped) = if dangerous {
        (None, Some(c.escape_unicode()))
    } else {
        (Some(c), None)
    };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_call::audit::Audit;
    use toolhost_call::metrics::Metrics;

    #[test]
    fn nothing_in_a_line_acts_on_a_terminal() {
        let escaped = |text: &str| text.chars().flat_map(escape).collect::<String>();
        assert_eq!(escaped("a\tb ä"), "a\tb ä");
        assert_eq!(escaped("a\nb\u{1b}[2J"), "a\\u{a}b\\u{1b}[2J");
        assert_eq!(escaped("\u{202e}x"), "\\u{202e}x");
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = Settings {
            secrets: [secret("key", "hunter22"), secret("pin", "1234")].into(),
            ..Settings::default()
        };
        let redacted = settings.redacted("a hunter22 and a 1234, hunter22");
        assert_eq!(redacted, "a [secret key] and a 1234, [secret key]");
    }

    fn log_of(limit: usize) -> LineLog {
        let trail = Trail::new(Audit::default(), Metrics::default(), "p".into(), None);
        LineLog::new(&trail, &Arc::default(), limit)
    }

    #[test]
    fn the_last_lines_of_standard_error_are_held() {
        let log = log_of(1 << 20);
        log.hold("");
        log.hold("  ");
        log.hold("first");
        log.hold("a\u{1b}b");
        assert_eq!(log.take_held(), ["first", "a\\u{1b}b"]);
        assert!(log.take_held().is_empty());
        (0..100).for_each(|line| log.hold(&line.to_string()));
        let held = log.take_held();
        assert_eq!(
            (held.len(), held.first().map(String::as_str)),
            (HELD_LINES, Some("68"))
        );
        (0..10).for_each(|_| log.hold(&"x".repeat(1000)));
        assert_eq!(log.take_held().len(), 4);
        // What is written another way comes after what was held.
        log.hold("before");
        log.line(Level::INFO, "after");
        assert!(log.take_held().is_empty());
    }

    #[test]
    fn the_limit_is_for_all_clones_together() {
        let metrics = Metrics::default();
        let trail = Trail::new(Audit::default(), metrics.clone(), "p".into(), None);
        let log = LineLog::new(&trail, &Arc::default(), 10);
        let other = log.clone();
        log.line(Level::INFO, "12345");
        other.line(Level::INFO, "123");
        other.line(Level::INFO, "");
        let account = log.account.lock();
        assert_eq!((account.left, account.left_out), (0, 1));
        drop(account);
        drop((log, other));
        let text = metrics.text();
        assert!(text.contains("limits_hit_total{plugin=\"p\",limit=\"log\"} 1\n"));
        assert!(text.contains("log_left_out_bytes_total{plugin=\"p\"} 1\n"));
    }
}
