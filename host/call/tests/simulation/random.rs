//! Numbers that look random and follow from a seed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// A source of numbers. Each decision has a source of its own, named by what is decided, so that it does not depend on the order of tasks.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Makes the source of a decision.
    pub(crate) fn of(seed: u64, decision: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, decision).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns a number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Returns an index into a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    /// Returns `true` this many times in 10,000.
    pub(crate) fn happens(&mut self, in_10_000: u64) -> bool {
        self.below(10_000) < in_10_000
    }

    /// Returns a time of at least `from` and less than `until` milliseconds.
    pub(crate) fn millis(&mut self, from: u64, until: u64) -> Duration {
        Duration::from_millis(from + self.below(until - from))
    }
}
