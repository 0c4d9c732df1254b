//! Waiting for a process: for its end, for output, or for output that matches.

use std::pin::pin;
use std::time::Duration;

use regex::bytes::{Regex, RegexBuilder};
use tokio::time::Instant;

use super::running::{Process, Progress};
use super::{Error, State};

/// The most memory that a compiled expression of [`WaitOptions::until`] may take, in bytes.
///
/// It bounds the time of a search, which grows with it: one of 1 MiB was seen to take 19 s over both windows.
const MAX_EXPRESSION: usize = 16 << 10;

/// The most memory that its search may take, in bytes.
const MAX_SEARCH: usize = 1 << 20;

/// The longest text of such an expression, in bytes.
const MAX_EXPRESSION_TEXT: usize = 4096;

/// How long output may gather before it is searched again.
const BETWEEN_SEARCHES: Duration = Duration::from_millis(20);

/// What to wait for, besides the end.
#[derive(Clone, Debug, Default)]
pub struct WaitOptions {
    /// The longest wait; zero looks and returns at once.
    pub timeout: Duration,
    /// The cursor from which `until` searches, and with which `output` compares.
    pub since: u64,
    /// A regular expression over bytes that ends the wait when it matches what is in memory from `since` on. Classes such
    /// as `\w` are those of ASCII; the compiled expression is bounded to 16 KiB.
    pub until: Option<String>,
    /// Whether any byte past `since` ends the wait.
    pub output: bool,
}

/// Why a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The shell has exited and its output was drained.
    Ended,
    /// The expression matched.
    Matched,
    /// There is output past the cursor.
    Output,
    /// The timeout is over.
    TimedOut,
}

/// What a wait saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Why it returned.
    pub wake: Wake,
    /// The state at that moment.
    pub state: State,
    /// How many bytes were written so far.
    pub total: u64,
    /// The cursor just past the match.
    pub match_end: Option<u64>,
}

impl Process {
    /// Waits until the shell has exited and its output was drained, or for what the options name.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if [`WaitOptions::until`] is no valid expression, or too large a one.
    pub async fn wait(&self, options: &WaitOptions) -> Result<Waited, Error> {
        let until = options.until.as_deref().map(expression).transpose()?;
        let wants_output = options.output || until.is_some();
        // Subscribed before the first look, so that no change between look and wait is missed.
        let (mut changed, mut grown) = (self.changed.subscribe(), self.grown.subscribe());
        let timeout = async {
            match Instant::now().checked_add(options.timeout) {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let mut timeout = pin!(timeout);
        loop {
            changed.mark_unchanged();
            grown.mark_unchanged();
            if let Some(waited) = self.look(options, until.as_ref()) {
                return Ok(waited);
            }
            let output = async {
                _ = grown.changed().await;
                if until.is_some() {
                    // One search serves all that was written meanwhile.
                    tokio::time::sleep(BETWEEN_SEARCHES).await;
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = output, if wants_output => {}
                () = &mut timeout => {
                    let last_look = self.look(options, until.as_ref());
                    return Ok(last_look.unwrap_or_else(|| self.progress().waited(Wake::TimedOut, None)));
                }
            }
        }
    }

    /// Returns why a wait is over, if it is.
    fn look(&self, options: &WaitOptions, until: Option<&Regex>) -> Option<Waited> {
        let matched = until.and_then(|until| self.find(until, options.since));
        let progress = self.progress();
        if matched.is_some() {
            return Some(progress.waited(Wake::Matched, matched));
        }
        if progress.drained {
            return Some(progress.waited(Wake::Ended, None));
        }
        if options.output && progress.capture.total() > options.since {
            return Some(progress.waited(Wake::Output, None));
        }
        None
    }

    /// Returns the cursor past the first match. Both windows are searched, a match across the gap is none.
    ///
    /// A search can take long, so it runs on a copy: nobody else waits for it.
    fn find(&self, until: &Regex, since: u64) -> Option<u64> {
        let mut cursor = since;
        loop {
            let chunk = self.progress().capture.read(cursor, usize::MAX);
            if let Some(found) = until.find(&chunk.data) {
                return Some(chunk.offset + found.end() as u64);
            }
            if chunk.data.is_empty() {
                return None;
            }
            cursor = chunk.offset + chunk.data.len() as u64;
        }
    }
}

impl Progress {
    fn waited(&self, wake: Wake, match_end: Option<u64>) -> Waited {
        Waited {
            wake,
            state: self.state(),
            total: self.capture.total(),
            match_end,
        }
    }
}

fn expression(text: &str) -> Result<Regex, Error> {
    if text.len() > MAX_EXPRESSION_TEXT {
        return Err(Error::Invalid(format!(
            "the expression is longer than {MAX_EXPRESSION_TEXT} bytes"
        )));
    }
    let built = RegexBuilder::new(text)
        .unicode(false)
        .size_limit(MAX_EXPRESSION)
        .dfa_size_limit(MAX_SEARCH)
        .build();
    built.map_err(|error| Error::Invalid(format!("the expression is not valid: {error}")))
}
