//! Whoever wants to hear of all processes of a registry while they live.

use super::{Process, State};

/// Hears what processes do: of each in order, and of several at once. It is called by what moves them along, so it must neither
/// wait nor take long.
pub trait Observer: std::fmt::Debug + Send + Sync {
    /// A process was started. Nothing was said of it before.
    fn started(&self, process: &Process);

    /// A process wrote `length` bytes, of which the first has the cursor `offset`. They can be read.
    fn output(&self, process: &Process, offset: u64, length: u64);

    /// A process stands differently now, and has written `total` bytes so far. Nothing follows one that is over. The process
    /// must not be asked for more within this, since that waits for it.
    fn changed(&self, process: &Process, state: &State, total: u64);
}
