//! Totals of all processes of a workspace.

/// Counters up to one moment, and levels at that moment.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Totals {
    /// How many processes were started.
    pub started: u64,
    /// How many shells ended, by the name of the cause; `lost` is one of them.
    pub ended: Vec<(String, u64)>,
    /// Bytes of output that were read.
    pub output: u64,
    /// Bytes of saved outputs on disk, or on their way there.
    pub saved: u64,
    /// How many processes run or linger.
    pub live: u64,
    /// How many starts were refused because the machine had no room.
    #[serde(default)]
    pub refused: u64,
    /// How many idle chats gave back their namespaces because the machine had no room.
    #[serde(default)]
    pub gave_back: u64,
}
