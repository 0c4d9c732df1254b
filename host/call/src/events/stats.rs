//! Counters of events, for the operator.

use std::sync::atomic::{AtomicU64, Ordering};

use super::hub::Hub;

/// Counters since the start, and levels at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many chats have a buffer now.
    pub chats: usize,
    /// About how many bytes the buffers have now.
    pub bytes: usize,
    /// How many readers there are now, without listeners within the host.
    pub readers: usize,
    /// Events that were published. Output that joined an event which no listener had heard yet does not count.
    pub published: u64,
    /// Events that were dropped because a buffer was full. Most of them had been heard of.
    pub dropped: u64,
    /// Listeners that heard [`Event::Reset`](super::Event::Reset).
    pub resets: u64,
    /// Stretches of output that a reader was told of and could not get, because they were no longer kept.
    pub gaps: u64,
    /// The bytes of those.
    pub gap_bytes: u64,
    /// Readers that were refused, because there were as many as there may be.
    pub refused: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) published: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) resets: AtomicU64,
    pub(super) gaps: AtomicU64,
    pub(super) gap_bytes: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Counters {
    pub(super) fn stats(&self, hub: &Hub) -> Stats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            chats: hub.chats(),
            bytes: hub.bytes(),
            readers: hub.readers(),
            published: count(&self.published),
            dropped: count(&self.dropped),
            resets: count(&self.resets),
            gaps: count(&self.gaps),
            gap_bytes: count(&self.gap_bytes),
            refused: count(&self.refused),
        }
    }
}
