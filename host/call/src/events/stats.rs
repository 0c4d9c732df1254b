//! Counters of events, for the operator.

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
    /// The bytes of these stretches.
    pub gap_bytes: u64,
    /// Readers that were refused, because there were as many as there may be.
    pub refused: u64,
}
