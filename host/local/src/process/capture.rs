//! The first and last bytes of an output, with exact counts.

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
    /// A ring of the last bytes after the head. It is full when it has `ring_size` bytes; `start` is then where it begins.
    ring: Vec<u8>,
    ring_size: usize,
    start: usize,
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
            ring: Vec::new(),
            ring_size: tail,
            start: 0,
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

    /// Adds bytes to the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let (to_head, rest) = bytes.split_at(bytes.len().min(self.head_room));
        extend(&mut self.head, to_head, self.head_room);
        self.head_room -= to_head.len();
        // Of the rest only the last bytes can stay, however many there are.
        let (_, last) = rest.split_at(rest.len().saturating_sub(self.ring_size));
        self.push_ring(last);
    }

    fn push_ring(&mut self, bytes: &[u8]) {
        let room = self.ring_size - self.ring.len();
        let (to_end, wrapped) = bytes.split_at(bytes.len().min(room));
        extend(&mut self.ring, to_end, room);
        let (first, second) = wrapped.split_at(wrapped.len().min(self.ring_size - self.start));
        overwrite(&mut self.ring, self.start, first);
        overwrite(&mut self.ring, 0, second);
        self.start += wrapped.len();
        if self.start >= self.ring_size {
            self.start -= self.ring_size;
        }
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
        let (older, newer) = self.ring_in_order();
        [older, newer].concat()
    }

    fn ring_in_order(&self) -> (&[u8], &[u8]) {
        let (newer, older) = self.ring.split_at(self.start.min(self.ring.len()));
        (older, newer)
    }

    /// Frees all memory. [`Capture::total`] stays, so that later reads name exactly what is gone.
    ///
    /// The beginning is gone for good: of what is added later only the last bytes are kept.
    pub fn clear(&mut self) {
        self.head = Vec::new();
        self.head_room = 0;
        self.ring = Vec::new();
        self.start = 0;
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
        let (older, newer) = self.ring_in_order();
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

/// Adds bytes to a vector that grows by at most `room` in all: unlike by default, it never allocates more than that.
fn extend(vec: &mut Vec<u8>, bytes: &[u8], room: usize) {
    if vec.capacity() - vec.len() < bytes.len() {
        vec.reserve_exact(bytes.len().max(vec.capacity()).min(room));
    }
    vec.extend_from_slice(bytes);
}

fn overwrite(ring: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = ring.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests;
