//! Saved outputs: a capped full copy on disk of everything that a command wrote.
//!
//! Memory keeps the two ends of an output; the copy has the middle as well. The bytes on disk are always a prefix of the output:
//! at the first byte that does not fit, or that the disk does not take, saving stops for good. It never stops the command.
//!
//! One thread does all work that may wait for a disk, apart from reading. The bytes that wait for it are bounded. No descriptor
//! stays open for a named output that is complete, and an output without a byte costs no file.

mod chat;
mod disk;
mod files;
mod handover;
mod ledger;
mod output;
mod store;
mod types;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use chat::Known;
pub use types::SaveLimits;
pub(crate) use types::{ChatOutputs, OutputStore, SavedOutput};
