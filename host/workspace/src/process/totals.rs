//! What is counted of all processes of a workspace.

/// What was counted up to one moment, and what there was at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// How many were started.
    pub started: u64,
    /// How many shells ended, by the name of the cause; `lost` is one of them.
    pub ended: Vec<(String, u64)>,
    /// Bytes of output that were read.
    pub output: u64,
    /// Bytes of saved outputs on disk, or on their way there.
    pub saved: u64,
    /// How many run or linger.
    pub live: u64,
}
