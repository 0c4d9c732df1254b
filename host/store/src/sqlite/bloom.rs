//! A filter of call ids: a blocked Bloom filter over their digests.

use super::witness::Key;

/// The words of a block, which has the size of a cache line.
const WORDS: usize = 8;

/// The calls of a block for which a filter has room. With 12.8 bits for each call, it takes one new call in two hundred for a known one.
const CALLS: u64 = 40;

/// The bits that a call sets in its block. Each takes nine bits of the digest.
const BITS: u32 = 7;

/// A set of calls that never denies a call it has, and rarely claims one that it lacks. A call cannot be taken out.
#[derive(Debug)]
pub(super) struct Bloom {
    blocks: Vec<[u64; WORDS]>,
    /// How many calls can be added before the filter claims too many that it lacks.
    room: u64,
}

impl Bloom {
    /// Returns an empty filter with room for this many calls.
    pub(super) fn with_room(calls: u64) -> Self {
        let blocks = calls.div_ceil(CALLS).max(1);
        Self {
            blocks: vec![[0; WORDS]; usize::try_from(blocks).unwrap_or(1)],
            room: blocks * CALLS,
        }
    }

    /// Adds a call.
    pub(super) fn add(&mut self, key: &Key) {
        let (at, bits) = self.place(key);
        let Some(block) = self.blocks.get_mut(at) else {
            return;
        };
        let mut is_new = false;
        for (word, bits) in block.iter_mut().zip(bits) {
            is_new |= *word & bits != bits;
            *word |= bits;
        }
        self.room = self.room.saturating_sub(u64::from(is_new));
    }

    /// Returns whether the filter may have a call. If not, the call was never added.
    pub(super) fn may_have(&self, key: &Key) -> bool {
        let (at, bits) = self.place(key);
        self.blocks.get(at).is_none_or(|block| {
            let mut words = block.iter().zip(bits);
            words.all(|(word, bits)| word & bits == bits)
        })
    }

    /// Returns whether the filter has no room left. It still takes calls, and then claims more that it lacks.
    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Returns the block of a call, and the bits that the call sets there.
    fn place(&self, key: &Key) -> (usize, [u64; WORDS]) {
        let (block, places) = key.split_at(8);
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        let block = (u128::from(number(block)) * self.blocks.len() as u128) >> 64;
        let mut bits = [0; WORDS];
        for place in 0..BITS {
            let place = number(places) >> (place * 9);
            if let Some(word) = bits.get_mut(place as usize % WORDS) {
                *word |= 1 << (place >> 3 & 63);
            }
        }
        (usize::try_from(block).unwrap_or_default(), bits)
    }
}

#[cfg(test)]
mod tests;
