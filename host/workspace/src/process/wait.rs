//! Waiting for a process: for its end, for output, or for output that matches.

use std::time::Duration;

use super::State;

/// What to wait for, besides the end.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct WaitOptions {
    /// The longest wait; zero looks and returns at once.
    pub timeout: Duration,
    /// The cursor from which `until` searches, and with which `output` compares.
    pub since: u64,
    /// A regular expression over bytes that ends the wait when it matches what is kept from `since` on, in memory or saved; a
    /// match of more than 4 KiB may not be found. Classes such as `\w` are those of ASCII, `^` and `$` are the ends of lines (and
    /// of what is written so far);
    /// the compiled expression is bounded to 16 KiB.
    pub until: Option<String>,
    /// Whether any byte past `since` ends the wait.
    pub output: bool,
}

/// Why a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Wake {
    /// The shell has exited and its output was drained; for who waits for output, nothing can write any more.
    Ended,
    /// The expression matched.
    Matched,
    /// There is output past the cursor.
    Output,
    /// The timeout is over.
    TimedOut,
}

/// What a wait saw.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
