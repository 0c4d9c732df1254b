//! The lines that guests write to the operator's log. No output of a guest reaches the log in another way.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::Level;

use super::settings::Settings;
use toolhost_call::audit::Trail;
use toolhost_call::metrics::LimitKind;

/// The longest single line, in bytes; a longer one is cut.
const MAX_LINE: usize = 8 * 1024;

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
            })),
        }
    }

    /// Writes one line, with control characters escaped. Text beyond the limit is counted, not written.
    pub(crate) fn line(&self, level: Level, text: &str) {
        // Secrets are removed before the line is cut: else the beginning of one would stay.
        let text = text
            .get(..text.floor_char_boundary(2 * MAX_LINE))
            .unwrap_or(text);
        let text = self.settings.redacted(text);
        let text = text
            .get(..text.floor_char_boundary(MAX_LINE))
            .unwrap_or(&text);
        let fits = {
            let mut account = self.account.lock();
            // An empty line costs something too: a million of them would fill a log as well.
            let cost = text.len() + 1;
            let fits = cost <= account.left;
            if fits {
                account.left -= cost;
            } else {
                account.left = 0;
                account.left_out += cost as u64;
            }
            fits
        };
        if !fits {
            return;
        }
        let text: String = text.chars().flat_map(escape).collect();
        // Add these fields to each line: a log filter for guests alone turns the span of the call off.
        let (plugin, chat, call) = (&*self.plugin, &*self.chat, &*self.call);
        match level {
            Level::ERROR => {
                tracing::error!(target: "toolhost::guest", plugin, chat, call, "{text}");
            }
            Level::WARN => tracing::warn!(target: "toolhost::guest", plugin, chat, call, "{text}"),
            Level::INFO => tracing::info!(target: "toolhost::guest", plugin, chat, call, "{text}"),
            _ => tracing::debug!(target: "toolhost::guest", plugin, chat, call, "{text}"),
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if self.left_out > 0 {
            let (plugin, bytes) = (&*self.trail.plugin, self.left_out);
            self.trail.limit(LimitKind::Log);
            self.trail.metrics.log_left_out(plugin, bytes);
            let reached = LimitKind::Log.reached(self.limit as u64);
            let whose = self.trail.call.as_ref();
            let chat = whose.map_or("", |(chat, _)| chat.as_str());
            let call = whose.map_or("", |(_, call)| call.as_str());
            tracing::warn!(target: "toolhost::guest", plugin, chat, call, bytes, "{reached}: the rest was left out");
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
