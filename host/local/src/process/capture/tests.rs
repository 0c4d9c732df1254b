//! The capture against a model, and the reference's tests of its buffer.

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
