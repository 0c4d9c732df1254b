//! The reference's known defects, which must not return, and properties of the rendering.

use proptest::prelude::*;

use super::*;

/// Renders output through windows of this size.
fn render_through(output: &[u8], window: usize, sizes: Sizes) -> Rendering {
    let (head, rest) = output.split_at(output.len().min(window));
    let (_, tail) = rest.split_at(rest.len().saturating_sub(window));
    let total = output.len() as u64;
    render(Windows { head, tail, total }, sizes)
}

fn render_default(output: &[u8]) -> Rendering {
    render_through(output, 32 * 1024, Sizes::default())
}

/// The lines `line 0`, `line 1` … of this many bytes in all.
fn lines(length: usize) -> String {
    let mut text: String = (0..length / 7)
        .map(|line| format!("line {line}\n"))
        .collect();
    text.truncate(length);
    text
}

/// What the text of a stretch has to be.
fn clipped(text: &str, limit: usize) -> (String, u64) {
    let mut output = String::new();
    let hidden = super::lines::push_clipped(&mut output, text, limit);
    (output, hidden.len() as u64)
}

#[test]
fn inserts_nothing_where_nothing_is_left_out() {
    for length in [16_383, 16_384, 16_385, 20_000, 32_767, 32_768] {
        let output = lines(length);
        let expected = Rendering {
            output: output.clone(),
            truncated: None,
        };
        assert_eq!(render_default(output.as_bytes()), expected, "{length}");
    }
}

#[test]
fn fits_the_cap_with_the_end_intact() {
    for length in [32_769, 33_000, 65_535, 65_536, 65_537, 5_000_000] {
        let text = lines(length);
        let Rendering { output, truncated } = render_default(text.as_bytes());
        let truncated = truncated.unwrap();
        assert!(output.len() <= 32_768 && output.len() > 32_700, "{length}");
        assert!(output.starts_with("line 0\nline 1\n"));
        assert!(output.ends_with(&text[length - 16_000..]));
        let shown_marker = marker(truncated.omitted_bytes);
        let (head, tail) = output.split_once(&shown_marker).unwrap();
        assert_eq!(
            (head.len() + tail.len()) as u64 + truncated.omitted_bytes,
            truncated.original_bytes
        );
        assert!(head.ends_with('\n') && tail.starts_with("line "));
        assert_eq!(truncated.retained_bytes, output.len() as u64);
    }
}

#[test]
fn one_endless_line_is_cut_once() {
    let text = "y".repeat(5_000_000);
    let Rendering { output, truncated } = render_default(text.as_bytes());
    let line = "y".repeat(2048);
    let expected = format!("{line}{}{line}", marker(5_000_000 - 4096));
    assert_eq!((output, truncated.unwrap().clipped_lines), (expected, 0));

    // Nothing of this one is missing, so that it is an ordinary long line.
    let Rendering { output, truncated } = render_default(&text.as_bytes()[..50_000]);
    let truncated = truncated.unwrap();
    assert_eq!((truncated.clipped_lines, truncated.omitted_bytes), (1, 0));
    assert_eq!(output.len(), 2048);
}

#[test]
fn a_freed_memory_leaves_the_marker() {
    let windows = Windows {
        head: b"",
        tail: b"",
        total: 12_345,
    };
    let Rendering { output, truncated } = render(windows, Sizes::default());
    assert_eq!(output, marker(12_345));
    assert_eq!(truncated.unwrap().omitted_bytes, 12_345);
}

#[test]
fn bytes_that_are_no_text_fit_too() {
    // Each is shown with 3 bytes: what would fit the cap raw does not as text.
    let line = [&[0xFF; 79][..], b"\n"].concat();
    let Rendering { output, truncated } = render_default(&line.repeat(300));
    let omitted = truncated.unwrap().omitted_bytes;
    assert!(output.len() <= 32_768 && omitted % 80 == 0 && omitted > 0);
    let shown = output
        .lines()
        .filter(|line| line.starts_with('\u{FFFD}'))
        .count();
    assert_eq!(shown as u64, 300 - omitted / 80);

    let Rendering { output, truncated } = render_default(&[0xFF; 20_000]);
    assert!(output.len() <= 2048 && output.starts_with('\u{FFFD}') && output.ends_with('\u{FFFD}'));
    assert_eq!(truncated.unwrap().clipped_lines, 1);
}

/// Bytes with many line feeds, long lines, wide characters and errors.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[a-z ]{0,40}".prop_map(String::into_bytes),
        1 => (0_usize..400).prop_map(|length| vec![b'='; length]),
        4 => Just(b"\n".to_vec()),
        2 => "[ä☃🦀]{1,8}".prop_map(String::into_bytes),
        2 => proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn sizes() -> impl Strategy<Value = Sizes> {
    let size = || prop_oneof![0..40_usize, 0..2000_usize, Just(usize::MAX)];
    (size(), size(), size(), size()).prop_map(|(head, tail, line, cap)| Sizes {
        head,
        tail,
        line,
        cap,
    })
}

proptest! {
    #[test]
    fn is_true_to_the_output(output in output(), window in 0..2000_usize, sizes in sizes()) {
        let limit = sizes.line.max(MIN_LINE);
        let total = output.len() as u64;
        let rendering = render_through(&output, window, sizes);
        let text = rendering.output;
        if sizes.cap >= marker(total).len() {
            prop_assert!(text.len() <= sizes.cap);
        }
        let all = String::from_utf8_lossy(&output);
        let Some(truncation) = rendering.truncated else {
            prop_assert_eq!(&text, &all);
            return Ok(());
        };
        prop_assert_eq!(truncation.original_bytes, total);
        prop_assert_eq!(truncation.retained_bytes, text.len() as u64);
        if truncation.omitted_bytes == 0 {
            prop_assert!(output.len() <= 2 * window);
            prop_assert!(truncation.clipped_lines > 0);
            prop_assert_eq!((text, truncation.clipped_lines), clipped(&all, limit));
            return Ok(());
        }
        // One stretch of exactly that length is missing, and the true ends are there.
        let omitted = usize::try_from(truncation.omitted_bytes).unwrap();
        let shown_marker = marker(truncation.omitted_bytes);
        let found = (0..=output.len() - omitted).any(|from| {
            let (head, in_head) = clipped(&String::from_utf8_lossy(&output[..from]), limit);
            if !text.starts_with(&head) || !text[head.len()..].starts_with(&shown_marker) {
                return false;
            }
            let (tail, in_tail) = clipped(&String::from_utf8_lossy(&output[from + omitted..]), limit);
            text[head.len() + shown_marker.len()..] == tail && truncation.clipped_lines == in_head + in_tail
        });
        prop_assert!(found, "{truncation:?} {text:?}");
        prop_assert!(text.find(&shown_marker).unwrap() <= sizes.head);
        prop_assert!(text.len() - text.rfind(&shown_marker).unwrap() - shown_marker.len() <= sizes.tail);

        // There is an end wherever there is room for a character.
        let room = sizes.cap.saturating_sub(marker(total).len());
        if window >= 8 && room >= 8 && sizes.head >= 4 {
            prop_assert!(!text.starts_with(&shown_marker));
        }
        let ends_in_pieces = output[output.len().saturating_sub(3)..].iter().all(|byte| *byte >= 0x80);
        if window >= 8 && room >= 8 && sizes.tail >= 4 && !ends_in_pieces {
            prop_assert!(!text.ends_with(&shown_marker));
        }
    }

    #[test]
    fn never_fails_for_windows_that_contradict_the_total(
        head in output(), tail in output(), total in any::<u64>(), sizes in sizes(),
    ) {
        let windows = Windows { head: &head, tail: &tail, total };
        let Rendering { output, truncated } = render(windows, sizes);
        prop_assert!(truncated.is_none_or(|truncation| truncation.retained_bytes == output.len() as u64));
    }

    #[test]
    fn cuts_between_lines_where_they_are_short(seed in 0_usize..60_000, window in 8000..32_768_usize) {
        let text = lines(40_000 + seed);
        let Rendering { output, truncated } = render_through(text.as_bytes(), window, Sizes::default());
        let shown_marker = marker(truncated.unwrap().omitted_bytes);
        let (head, tail) = output.split_once(&shown_marker).unwrap();
        prop_assert!(head.ends_with('\n') && tail.starts_with("line "));
    }
}
