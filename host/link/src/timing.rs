//! The times after which a host takes an agent, or a connection to it, for dead.

use std::time::Duration;

/// How long a host waits for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The time for an answer, besides the time that the workspace waits, and for each further piece of it. After that, the operation is
    /// sent again over another connection, with twice the time.
    pub answer: Duration,
    /// How long an operation is tried again. An agent that was replaced is there before.
    pub patience: Duration,
    /// The longest wait of one request. A longer one is several requests, so that no connection is silent for longer.
    pub round: Duration,
    /// After how long without a line the stream of events is taken for broken. The agent sends one every 5 s.
    pub silence: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            round: Duration::from_secs(10),
            silence: Duration::from_secs(17),
        }
    }
}
