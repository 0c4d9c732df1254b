//! Output of a process: the bytes kept in memory, a stretch of it, and how much of it is saved.

use super::{Screen, State, Survivor};

/// How many of the first bytes, and how many of the last, are kept in memory by default.
pub const WINDOW: usize = 32 * 1024;

/// A stretch of output that was read by its cursor.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Chunk {
    /// The cursor of the first byte. If it is greater than the one asked for, exactly the bytes between are gone.
    pub offset: u64,
    /// The bytes.
    #[serde(with = "crate::base64")]
    #[schemars(with = "String")]
    pub data: Vec<u8>,
    /// How many bytes were written so far.
    pub total: u64,
    /// Whether nothing will follow.
    pub end: bool,
}

/// State and bounded output of one moment.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Snapshot {
    /// The state of the process.
    pub state: State,
    /// How many bytes were written so far.
    pub total: u64,
    /// The first bytes.
    #[serde(with = "crate::base64")]
    #[schemars(with = "String")]
    pub head: Vec<u8>,
    /// The last bytes that are not in the head.
    #[serde(with = "crate::base64")]
    #[schemars(with = "String")]
    pub tail: Vec<u8>,
    /// The processes that outlive the shell, at most 64 of them; empty while the shell runs.
    pub survivors: Vec<Survivor>,
    /// How far the full copy of the output goes.
    pub saved: Saved,
    /// What the sandbox has likely denied, each in a sentence with the rule; empty while the shell runs.
    pub denials: Vec<String>,
    /// Whether its standard input is open for [`SendInput`](crate::operation::SendInput).
    pub takes_input: bool,
    /// What its terminal shows, or showed last; `None` if it was started without one.
    pub screen: Option<Screen>,
}

/// How much of an output is saved.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub enum Saved {
    /// Nothing: it was removed, or had to make room for newer outputs.
    None,
    /// Every byte so far. Also the state of an output without a byte.
    Complete,
    /// This many bytes from the start, where a limit was reached.
    Partial(u64),
    /// The bytes written before the disk failed, which stay readable. The text says why it failed, without paths.
    Failed(String),
}
