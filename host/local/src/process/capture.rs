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
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|index| (index * 31 % 251) as u8).collect()
    }

    fn of(head: usize, tail: usize, pieces: &[impl AsRef<[u8]>]) -> Capture {
        let mut capture = Capture::new(head, tail);
        for piece in pieces {
            capture.push(piece.as_ref());
        }
        capture
    }

    /// Checks a capture of these sizes against all of the output.
    fn check(capture: &Capture, output: &[u8], head: usize, tail: usize) {
        let (first, rest) = output.split_at(output.len().min(head));
        let last = &rest[rest.len().saturating_sub(tail)..];
        let len = output.len();
        assert!(capture.head() == first && capture.tail() == last, "{len}");
        assert_eq!(capture.total(), len as u64);
        assert_eq!(capture.retained(), first.len() + last.len());
        let expected = (0..first.len() as u64, (len - last.len()) as u64..len as u64);
        assert_eq!(capture.windows(), expected);
        for max in [0, 1, tail, tail + 1, head + tail, usize::MAX] {
            let kept = match len <= head + tail {
                true => output,
                false => last,
            };
            assert_eq!(capture.last(max), kept[kept.len() - kept.len().min(max)..]);
        }
        assert!(capture.head.capacity() <= head && capture.ring.capacity() <= tail);
    }

    #[test]
    fn keeps_everything_up_to_two_windows_and_the_ends_beyond() {
        for limit in [0, WINDOW, 2 * WINDOW, 80 * 1024, 5 * WINDOW + 17] {
            for len in limit.saturating_sub(1)..=limit + 1 {
                let output = bytes(len);
                check(&of(WINDOW, WINDOW, &[&output]), &output, WINDOW, WINDOW);
            }
        }
    }

    #[test]
    fn idle_captures_cost_nothing_and_cleared_ones_neither() {
        let mut capture = Capture::default();
        assert_eq!((capture.head.capacity(), capture.ring.capacity()), (0, 0));
        capture.push(&bytes(100_000));
        capture.clear();
        assert_eq!((capture.head.capacity(), capture.ring.capacity()), (0, 0));
        assert_eq!((capture.total(), capture.retained()), (100_000, 0));
        assert_eq!(capture.windows(), (0..0, 100_000..100_000));
        let chunk = capture.read(7, 10);
        assert_eq!((chunk.offset, chunk.data.len()), (100_000, 0));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(Vec<u8>),
        Read(usize),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => vec(any::<u8>(), 0..60).prop_map(Step::Push),
            8 => (0_usize..60).prop_map(Step::Read),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        #[test]
        fn any_split_into_writes_gives_the_same(
            lens in vec(0_usize..40_000, 0..12), head in 0..2 * WINDOW, tail in 0..2 * WINDOW,
        ) {
            let output = bytes(lens.iter().sum());
            let mut capture = Capture::new(head, tail);
            let mut rest = output.as_slice();
            for len in lens {
                capture.push(rest.split_off(..len).unwrap());
            }
            check(&capture, &output, head, tail);
        }

        #[test]
        fn is_exact_around_the_limits(
            limit in prop::sample::select(vec![0, WINDOW, 2 * WINDOW, 80 * 1024]),
            by in -70_isize..70, text in "[a-zä☃🦀\n]{40,80}", random in vec(any::<u8>(), 97), at in 0_usize..82_000,
        ) {
            let len = limit.saturating_add_signed(by);
            for piece in [text.as_bytes(), &random] {
                let output: Vec<_> = piece.iter().copied().cycle().take(len).collect();
                let (first, second) = output.split_at(at.min(len));
                check(&of(WINDOW, WINDOW, &[first, second]), &output, WINDOW, WINDOW);
            }
        }

        #[test]
        fn reads_reproduce_the_output_or_name_an_exact_gap(
            len in 0_usize..200_000, max in 1_usize..50_000, head in 0..2 * WINDOW, tail in 0..2 * WINDOW,
        ) {
            let output = bytes(len);
            let capture = of(head, tail, &[&output]);
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
            prop_assert_eq!(gap as usize, len.saturating_sub(head + tail));
        }

        /// The model keeps everything, and which of it has to be in memory.
        #[test]
        fn any_interleaving_reads_the_same_as_the_model(
            steps in vec(step(), 0..60), head in 0_usize..100, tail in 0_usize..100,
        ) {
            let mut capture = Capture::new(head, tail);
            let (mut output, mut head, mut cleared, mut cursor) = (Vec::new(), head, 0, 0);
            for step in steps {
                match step {
                    Step::Push(bytes) => {
                        capture.push(&bytes);
                        output.extend(bytes);
                    }
                    Step::Clear => {
                        capture.clear();
                        (head, cleared) = (0, output.len());
                    }
                    Step::Read(max) => {
                        let chunk = capture.read(cursor as u64, max);
                        let is_kept = |at: &usize| *at < head || *at >= cleared.max(output.len().saturating_sub(tail));
                        let from = (cursor..output.len()).find(is_kept).unwrap_or(output.len());
                        let data: Vec<_> = (from..output.len()).take_while(is_kept).map(|at| output[at]).take(max).collect();
                        prop_assert_eq!((chunk.offset, chunk.total), (from as u64, output.len() as u64));
                        prop_assert_eq!(&chunk.data, &data);
                        cursor = from + data.len();
                    }
                }
            }
        }

        #[test]
        fn a_cursor_past_the_end_gives_nothing(
            len in 0_usize..70_000, past in any::<u64>(), head in 0..2 * WINDOW, tail in 0..2 * WINDOW,
        ) {
            let chunk = of(head, tail, &[bytes(len)]).read(past.max(len as u64), 10);
            prop_assert_eq!((chunk.offset, chunk.data.len()), (len as u64, 0));
        }
    }

    // The rows of the reference's table of tests (process-api, 2.3) about the buffer. Those about the text are in the view.

    #[test]
    fn empty_buffer() {
        check(&Capture::default(), b"", WINDOW, WINDOW);
    }

    #[test]
    fn small_output() {
        let capture = of(WINDOW, WINDOW, &["hello world\n"]);
        assert_eq!((capture.retained(), capture.total()), (12, 12));
        assert_eq!(capture.head(), b"hello world\n");
    }

    #[test]
    fn exactly_head_size() {
        let output = bytes(16_384);
        let capture = of(16_384, 16_384, &[&output]);
        assert!(capture.head() == output && capture.tail().is_empty());
        assert_eq!(capture.retained(), 16_384);
    }

    #[test]
    fn head_plus_tail_no_omission() {
        let capture = of(10, 10, &["0123456789abcdefghij"]);
        assert_eq!(capture.read(0, 100).data, b"0123456789abcdefghij");
    }

    #[test]
    fn large_output_truncation() {
        let capture = of(10, 10, &["A".repeat(50), "Z".repeat(50)]);
        assert_eq!((capture.retained(), capture.total()), (20, 100));
        assert_eq!(
            (capture.head(), capture.tail()),
            (b"A".repeat(10), b"Z".repeat(10))
        );
    }

    /// Adapted, item 1: both windows are larger than the shown ones, so that 64 KiB stay in memory instead of 32 KiB.
    #[test]
    fn multi_mb_stays_bounded() {
        let capture = of(WINDOW, WINDOW, &vec![bytes(4097); 1280]);
        assert_eq!(
            (capture.retained(), capture.total()),
            (2 * WINDOW, 1280 * 4097)
        );
    }

    #[test]
    fn concurrent_writes() {
        let capture = parking_lot::Mutex::new(Capture::default());
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| (0..1000).for_each(|_| capture.lock().push(b"some line\n")));
            }
        });
        let output = b"some line\n".repeat(10_000);
        check(&capture.into_inner(), &output, WINDOW, WINDOW);
    }

    #[test]
    fn multiple_small_writes() {
        let pieces: Vec<_> = b"hello world".iter().map(|byte| [*byte]).collect();
        check(&of(WINDOW, WINDOW, &pieces), b"hello world", WINDOW, WINDOW);
    }

    #[test]
    fn write_empty_slice() {
        check(&of(WINDOW, WINDOW, &[""]), b"", WINDOW, WINDOW);
    }

    /// Adapted, item 9: the total stays, so that a read after the reset reports the gap with its exact size.
    #[test]
    fn reset() {
        let mut capture = of(5, 10, &["some output, which is gone"]);
        capture.clear();
        assert_eq!((capture.retained(), capture.total()), (0, 26));
        assert_eq!(capture.read(0, 100).offset, 26);
    }

    #[test]
    fn bytes_returns_copy() {
        let capture = of(5, 10, &["hello world"]);
        capture.head().fill(b'x');
        capture.tail().fill(b'x');
        capture.read(0, 100).data.fill(b'x');
        check(&capture, b"hello world", 5, 10);
    }

    #[test]
    fn ring_buffer_wraparound() {
        let capture = of(5, 10, &["HEADD", "0123456789", "abcdefghij", "ABCDE"]);
        assert_eq!(
            (capture.head(), capture.tail()),
            (b"HEADD".to_vec(), b"fghijABCDE".to_vec())
        );
    }

    #[test]
    fn a_restored_capture_goes_on_as_the_first_one_would() {
        let all: Vec<u8> = (0..5 * WINDOW).map(|index| (index % 251) as u8).collect();
        for total in [0, 10, WINDOW, WINDOW + 10, 2 * WINDOW, 4 * WINDOW] {
            let (so_far, later) = all.split_at(total);
            let (head, rest) = so_far.split_at(total.min(WINDOW));
            let tail = &rest[rest.len().saturating_sub(WINDOW)..];
            let mut restored = Capture::restored(head, tail, total as u64);
            let mut whole = Capture::default();
            whole.push(so_far);
            for more in [&[][..], &later[..100], &later[100..]] {
                restored.push(more);
                whole.push(more);
                assert_eq!(restored.windows(), whole.windows(), "{total}");
                assert_eq!(
                    (restored.head(), restored.tail()),
                    (whole.head(), whole.tail())
                );
            }
        }
        // Where the beginning is gone, nothing takes its place.
        let mut lacking = Capture::restored(&[], &[], 10);
        lacking.push(b"later");
        assert_eq!(
            (lacking.windows(), lacking.tail()),
            ((0..0, 10..15), b"later".to_vec())
        );
    }
}
