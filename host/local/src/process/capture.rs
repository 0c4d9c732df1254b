//! The first and last bytes of an output, with exact counts: the host truncates an output here, and forgets its middle. What is on the disk
//! is cut in `saved/handover.rs`, and the text for a model in `guest-tools/view`.

use std::collections::VecDeque;
use std::ops::Range;

use super::{Chunk, WINDOW};

/// Output of any length in bounded memory: its first bytes, and the last bytes after those.
///
/// Memory is allocated as output comes. It at most doubles each time, and never exceeds the two sizes together.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    /// How many bytes the head still takes.
    head_room: usize,
    /// The last bytes after the head, at most `ring_size`.
    ring: VecDeque<u8>,
    ring_size: usize,
    total: u64,
}

impl Default for Capture {
    /// A capture that keeps [`WINDOW`] bytes of each end.
    fn default() -> Self {
        Self::new(WINDOW, WINDOW)
    }
}

impl Capture {
    /// Returns an empty capture that keeps this many of the first bytes, and this many of the last ones after them.
    ///
    /// Either may be 0. Nothing is allocated yet.
    #[must_use]
    pub const fn new(head: usize, tail: usize) -> Self {
        Self {
            head: Vec::new(),
            head_room: head,
            ring: VecDeque::new(),
            ring_size: tail,
            total: 0,
        }
    }

    /// Makes a capture of an output of this many bytes that memory has nothing of.
    pub(super) fn forgotten(total: u64) -> Self {
        Self {
            total,
            ..Self::new(0, 0)
        }
    }

    /// Makes the capture of an output of this many bytes, from its first bytes and its last ones after them.
    pub(super) fn restored(head: &[u8], tail: &[u8], total: u64) -> Self {
        let mut capture = Self::default();
        capture.push(head);
        if ((head.len() + tail.len()) as u64) < total {
            // There is a gap: later bytes are not among the first ones.
            capture.head_room = 0;
        }
        capture.push(tail);
        capture.total = total;
        capture
    }

    /// Adds bytes to the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let (to_head, rest) = bytes.split_at(bytes.len().min(self.head_room));
        let more = growth(self.head.len(), self.head.capacity(), to_head.len());
        self.head.reserve_exact(more.min(self.head_room));
        self.head.extend_from_slice(to_head);
        self.head_room -= to_head.len();
        // Of the rest only the last bytes can stay, however many there are.
        let (_, last) = rest.split_at(rest.len().saturating_sub(self.ring_size));
        let excess = (self.ring.len() + last.len()).saturating_sub(self.ring_size);
        self.ring.drain(..excess);
        let more = growth(self.ring.len(), self.ring.capacity(), last.len());
        self.ring
            .reserve_exact(more.min(self.ring_size - self.ring.len()));
        self.ring.extend(last);
    }

    /// Returns how many bytes were written so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns how many bytes memory has, of both ends together.
    pub fn retained(&self) -> usize {
        self.head.len() + self.ring.len()
    }

    /// Returns the cursors of the bytes that memory has: those of the head, and those of the tail.
    ///
    /// If the first range ends before the second one begins, exactly the bytes between are gone.
    pub fn windows(&self) -> (Range<u64>, Range<u64>) {
        let tail_start = self.total.saturating_sub(self.ring.len() as u64);
        (0..self.head.len() as u64, tail_start..self.total)
    }

    /// Returns a copy of the first bytes.
    pub fn head(&self) -> Vec<u8> {
        self.head.clone()
    }

    /// Returns a copy of the last bytes that are not in the head.
    pub fn tail(&self) -> Vec<u8> {
        let (older, newer) = self.ring.as_slices();
        [older, newer].concat()
    }

    /// Returns a copy of at most this many of the last bytes, as far as memory has them.
    pub fn last(&self, max: usize) -> Vec<u8> {
        let (head, tail) = self.windows();
        let tail_bytes = self.ring.len().min(max);
        let mut last = Vec::new();
        // The head is a part of the last bytes only if nothing between is gone.
        if head.end == tail.start {
            let from_head = self.head.len().min(max - tail_bytes);
            last.extend(self.head.iter().skip(self.head.len() - from_head));
        }
        last.extend(self.ring.iter().skip(self.ring.len() - tail_bytes));
        last
    }

    /// Frees all memory. [`Capture::total`] stays, so that later reads name the exact gap.
    ///
    /// The beginning is gone for good: of bytes that are added later only the last are kept.
    pub fn clear(&mut self) {
        self.head = Vec::new();
        self.head_room = 0;
        self.ring = VecDeque::new();
    }

    /// Returns at most `max` bytes from the cursor `since` on, as far as memory has them.
    ///
    /// A cursor in the gap between head and tail is moved to the start of the tail. One past the end gives nothing, at the
    /// end. The bytes never cross the gap. [`Chunk::end`] is false: only the caller knows whether more will follow.
    pub fn read(&self, since: u64, max: usize) -> Chunk {
        let (head, tail) = self.windows();
        let offset = if head.contains(&since) {
            since
        } else {
            since.clamp(tail.start, tail.end)
        };
        let (older, newer) = self.ring.as_slices();
        let parts = [
            (head.start, self.head.as_slice()),
            (tail.start, older),
            (tail.start + older.len() as u64, newer),
        ];
        let mut data = Vec::new();
        for (start, part) in parts {
            // Nothing is taken from a part after a gap, or from one that ends before the cursor.
            let skipped = (offset + data.len() as u64).checked_sub(start);
            let rest = skipped.and_then(|skipped| part.get(usize::try_from(skipped).ok()?..));
            data.extend(rest.unwrap_or_default().iter().take(max - data.len()));
        }
        Chunk {
            offset,
            data,
            total: self.total,
            end: false,
        }
    }
}

/// Returns by how much a buffer of this length and capacity should grow for more bytes: it at least doubles.
fn growth(len: usize, capacity: usize, more: usize) -> usize {
    if capacity - len < more {
        more.max(capacity)
    } else {
        0
    }
}

#[cfg(test)]
mod tests;
