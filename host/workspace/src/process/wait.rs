//! Waiting for a process: for its end, for output, or for output that matches.

use std::time::Duration;

use super::State;

/// The conditions of a wait, besides the end of the process.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct WaitOptions {
    /// The longest wait. With zero, the wait checks the conditions once and returns.
    pub timeout: Duration,
    /// The cursor from which `until` searches, and with which `output` compares.
    pub since: u64,
    /// A regular expression over bytes that ends the wait when it matches output that is kept from `since` on, in memory or
    /// saved. A match of more than 4 KiB may not be found. Classes such as `\w` are those of ASCII. `^` and `$` match at the
    /// ends of lines, and of the output so far. The compiled expression is bounded to 16 KiB.
    pub until: Option<String>,
    /// Whether any byte past `since` ends the wait.
    pub output: bool,
}

/// Why a wait returned.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub enum Wake {
    /// The shell has exited and its output was drained. If the wait is for output, no process can write any more.
    Ended,
    /// The expression matched.
    Matched,
    /// There is output past the cursor.
    Output,
    /// The timeout is over.
    TimedOut,
}

/// The result of a wait.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Waited {
    /// Why the wait returned.
    pub wake: Wake,
    /// The state at that moment.
    pub state: State,
    /// How many bytes of output the process has written so far.
    pub total: u64,
    /// The cursor just past the match; `None` if nothing matched.
    pub match_end: Option<u64>,
}
