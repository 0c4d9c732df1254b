//! The first and last bytes of an output, with exact counts.

/// How many of the first bytes, and how many of the last, are kept in memory.
pub const WINDOW: usize = 32 * 1024;

/// Output of any length in bounded memory: the first [`WINDOW`] bytes and the last [`WINDOW`] bytes after those.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    /// A ring of the bytes after the head. It is full when it has `WINDOW` bytes; `start` is then where it begins.
    ring: Vec<u8>,
    start: usize,
    total: u64,
}

/// A stretch of output that was read by its cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The cursor of the first byte. If it is greater than the one asked for, exactly the bytes between are gone.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
    /// How many bytes were written so far.
    pub total: u64,
    /// Whether nothing will follow.
    pub end: bool,
}

impl Capture {
    /// Adds bytes to the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let (to_head, rest) = bytes.split_at(bytes.len().min(WINDOW - self.head.len()));
        self.head.extend_from_slice(to_head);
        // Of the rest only the last bytes can stay, however many there are.
        self.push_ring(
            rest.get(rest.len().saturating_sub(WINDOW)..)
                .unwrap_or_default(),
        );
    }

    fn push_ring(&mut self, bytes: &[u8]) {
        let (to_end, wrapped) = bytes.split_at(bytes.len().min(WINDOW - self.ring.len()));
        self.ring.extend_from_slice(to_end);
        let (first, second) = wrapped.split_at(wrapped.len().min(WINDOW - self.start));
        overwrite(&mut self.ring, self.start, first);
        overwrite(&mut self.ring, 0, second);
        self.start = (self.start + wrapped.len()) % WINDOW;
    }

    /// Returns how many bytes were written so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns a copy of the first bytes.
    pub fn head(&self) -> Vec<u8> {
        self.head.clone()
    }

    /// Returns a copy of the last bytes that are not in the head.
    pub fn tail(&self) -> Vec<u8> {
        let (older, newer) = self.ring.split_at(self.start.min(self.ring.len()));
        [newer, older].concat()
    }

    /// Returns at most `max` bytes from the cursor `since` on, as far as memory has them.
    ///
    /// A cursor in the gap between head and tail is moved to the start of the tail. One past the end gives nothing, at the
    /// end. The bytes never cross the gap. [`Chunk::end`] is false: only the caller knows whether more will follow.
    pub fn read(&self, since: u64, max: usize) -> Chunk {
        let head_end = self.head.len() as u64;
        let tail_start = self.total - self.ring.len() as u64;
        let (offset, window) = if since < head_end {
            (
                since,
                self.head
                    .get(to_index(since)..)
                    .unwrap_or_default()
                    .to_vec(),
            )
        } else {
            let offset = since.clamp(tail_start, self.total);
            (
                offset,
                self.tail()
                    .split_off(to_index(offset - tail_start).min(self.ring.len())),
            )
        };
        let mut data = window;
        // Head and tail touch where nothing was left out.
        if since < head_end && tail_start == head_end {
            data.extend_from_slice(&self.tail());
        }
        data.truncate(max);
        Chunk {
            offset,
            data,
            total: self.total,
            end: false,
        }
    }
}

/// An index of at most a window, which fits on every platform.
fn to_index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn overwrite(ring: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = ring.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes that a capture must keep of an output, and the gap between them.
    fn expected(output: &[u8]) -> (&[u8], &[u8]) {
        let (head, rest) = output.split_at(output.len().min(WINDOW));
        (head, &rest[rest.len().saturating_sub(WINDOW)..])
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|index| (index * 31 % 251) as u8).collect()
    }

    #[test]
    fn keeps_everything_up_to_two_windows_and_the_ends_beyond() {
        for len in [
            0,
            1,
            WINDOW - 1,
            WINDOW,
            WINDOW + 1,
            2 * WINDOW - 1,
            2 * WINDOW,
            2 * WINDOW + 1,
            5 * WINDOW + 17,
        ] {
            let output = bytes(len);
            let mut capture = Capture::default();
            capture.push(&output);
            let (head, tail) = expected(&output);
            assert_eq!(capture.total(), len as u64);
            assert!(
                capture.head() == head && capture.tail() == tail,
                "{len} bytes"
            );
        }
    }

    proptest! {
        #[test]
        fn any_split_into_writes_gives_the_same(lens in prop::collection::vec(0_usize..40_000, 0..12)) {
            let output = bytes(lens.iter().sum());
            let mut capture = Capture::default();
            let mut at = 0;
            for len in lens {
                capture.push(&output[at..at + len]);
                at += len;
            }
            let (head, tail) = expected(&output);
            prop_assert!(capture.head() == head && capture.tail() == tail);
            prop_assert_eq!(capture.total(), output.len() as u64);
        }

        #[test]
        fn reads_reproduce_the_output_or_name_an_exact_gap(len in 0_usize..200_000, max in 1_usize..50_000) {
            let output = bytes(len);
            let mut capture = Capture::default();
            capture.push(&output);
            let (mut cursor, mut gap) = (0_u64, 0);
            loop {
                let chunk = capture.read(cursor, max);
                prop_assert_eq!(capture.read(cursor, max), chunk.clone());
                prop_assert!(chunk.data.len() <= max);
                gap += chunk.offset - cursor;
                let at = chunk.offset as usize;
                prop_assert!(chunk.data == output[at..at + chunk.data.len()]);
                cursor = chunk.offset + chunk.data.len() as u64;
                if chunk.data.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(cursor, len as u64);
            prop_assert_eq!(gap as usize, len.saturating_sub(2 * WINDOW));
        }

        #[test]
        fn a_cursor_past_the_end_gives_nothing(len in 0_usize..70_000, past in any::<u64>()) {
            let mut capture = Capture::default();
            capture.push(&bytes(len));
            let chunk = capture.read(past.max(len as u64), 10);
            prop_assert_eq!((chunk.offset, chunk.data.len()), (len as u64, 0));
        }
    }
}
