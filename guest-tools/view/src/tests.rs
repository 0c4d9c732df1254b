//! Tables and properties of the views.

use proptest::prelude::*;

use super::*;

/// Views output through windows of the size that a host keeps.
fn view_through(output: &[u8], window: usize, cap: usize) -> View {
    let (head, rest) = output.split_at(output.len().min(window));
    let (_, tail) = rest.split_at(rest.len().saturating_sub(window));
    render(
        Windows {
            head,
            tail,
            total: output.len() as u64,
        },
        cap,
    )
}

fn view(output: &[u8]) -> View {
    view_through(output, CAP, CAP)
}

#[test]
fn leaves_alone_what_fits() {
    let just_fits = format!("{}☃", "x".repeat(CAP - 3));
    for output in ["", "short", "a\n", &"a".repeat(CAP), &just_fits] {
        assert_eq!(
            view(output.as_bytes()),
            View {
                text: output.to_owned(),
                is_binary: false,
                encoding_errors: 0,
                escaped: 0,
                truncation: None
            }
        );
    }
}

#[test]
fn leaves_out_the_middle_of_what_does_not() {
    for output in [
        "b".repeat(33_792),
        format!("{}☃", "x".repeat(CAP - 1)),
        "y".repeat(10_000_000),
    ] {
        let View {
            text, truncation, ..
        } = view(output.as_bytes());
        let truncation = truncation.unwrap();
        assert!(text.len() <= CAP && text.len() > CAP - 32, "{}", text.len());
        assert_eq!(truncation.original_bytes, output.len() as u64);
        let is_clipped = truncation.clipped_lines == 1 && text.contains(lines::CLIP);
        assert!(
            is_clipped || text.contains(&marker_of(&truncation)),
            "{truncation:?}"
        );
        assert_eq!(text.chars().last(), output.chars().last());
    }
}

#[test]
fn counts_lines_that_it_has_seen() {
    let lines = "0123456789abcde\n".repeat(3000);
    let truncation = view(lines.as_bytes()).truncation.unwrap();
    assert_eq!(
        truncation.omitted_lines,
        Some(truncation.omitted_bytes / 16)
    );
    assert_eq!(truncation.omitted_bytes % 16, 0, "cut between lines");

    let many = lines.repeat(10);
    assert_eq!(
        view(many.as_bytes()).truncation.unwrap().omitted_lines,
        None
    );
}

#[test]
fn pages_end_between_characters() {
    let page_of = |bytes: &[u8], more| {
        let page = page(bytes, more, bytes.len());
        (page.text, page.used)
    };
    for (bytes, more, text, used) in [
        (&b"ab\xE2\x98"[..], true, "ab", 2),
        (b"ab\xE2\x98", false, "ab\u{FFFD}", 4),
        (b"ab\x1B[3", true, "ab", 2),
        (b"ab\x1B[3", false, "ab", 5),
        (b"\x1B[3", true, "", 3),
        (b"", true, "", 0),
    ] {
        assert_eq!(page_of(bytes, more), (text.to_owned(), used), "{bytes:?}");
    }
}

/// What is still being written is left to the next stretch, however little there is.
#[test]
fn what_is_incomplete_is_not_used_where_more_comes() {
    for (bytes, used) in [
        (&b"\xE2\x98"[..], 0),
        (b"ab\xE2", 2),
        (b"ab \x1B[3", 3),
        (b"\x1B", 0),
        (b"ab", 2),
    ] {
        assert_eq!(page(bytes, true, 1000).used, used, "{bytes:?}");
        assert_eq!(page(bytes, false, 1000).used, bytes.len());
        assert_eq!(incomplete(bytes), bytes.len() - used);
    }
}

#[test]
fn lines_that_fit_when_they_are_clipped_are_all_there_once() {
    let long = format!("ab{}xyz\n", "😀".repeat(900));
    for middle in ["MIDDLE\n", ""] {
        let output = long.repeat(8) + middle + &long.repeat(8);
        let View {
            text, truncation, ..
        } = view(output.as_bytes());
        let truncation = truncation.unwrap();
        assert_eq!(text.matches("MIDDLE").count(), middle.len() / 7);
        assert!(!text.contains("[omitted"), "{truncation:?}");
        assert_eq!(truncation.clipped_lines, 16);
    }
}

/// The output of `find -print0`, and a log with one stray byte.
#[test]
fn nul_does_not_hide_the_text_around_it() {
    let shown = view(b"./a file\0./b\0");
    assert_eq!(shown.text, "./a file<U+0000>./b<U+0000>");
    assert_eq!((shown.is_binary, shown.escaped), (false, 2));

    let log = (1..=20_000).map(|line| format!("{line}\n"));
    let log = log.chain(["ERR\0\n".to_owned()]).collect::<String>();
    let View { text, escaped, .. } = view(log.as_bytes());
    assert!(text.starts_with("1\n2\n") && text.ends_with("20000\nERR<U+0000>\n"));
    assert_eq!(escaped, 1);
}

#[test]
fn binary_output_has_no_text() {
    let mut output = b"GIF89a\0\x01\xFF\xFE".repeat(10_000);
    let binary = view(&output);
    assert!(binary.is_binary && binary.text.is_empty() && binary.truncation.is_none());
    output.truncate(100);
    assert!(page(&output, false, CAP).is_binary);
    assert_eq!(page(&output, false, CAP).used, 100);
}

#[test]
fn counts_what_is_no_utf_8() {
    let output = [&b"caf\xE9 "[..], &b"a".repeat(100_000), b" caf\xE9"].concat();
    assert_eq!(view(&output).encoding_errors, 2);
    assert_eq!(page(&output, false, CAP).encoding_errors, 2);
}

#[test]
fn nothing_is_left_out_that_fits_once_it_is_clean() {
    let bar: String = (0..9000).map(|step| format!("\r[{step}]")).collect();
    assert!(bar.len() > CAP && bar.len() < 2 * CAP);
    let View {
        text, truncation, ..
    } = view(bar.as_bytes());
    assert_eq!((text.as_str(), truncation), ("[8999]", None));
    let colours = "\x1B[1;31mx\x1B[0m".repeat(4000);
    let View {
        text, truncation, ..
    } = view(colours.as_bytes());
    assert_eq!((text.len(), truncation), (4000, None));
}

#[test]
fn long_lines_are_clipped_before_others_are_left_out() {
    let short = "short\n".repeat(1000);
    let output = format!("{short}{}\n{short}", "x".repeat(40_000));
    let View {
        text, truncation, ..
    } = view(output.as_bytes());
    let truncation = truncation.unwrap();
    assert_eq!(text.matches("short\n").count(), 2000);
    assert!(text.len() <= CAP && text.len() > CAP - 8, "{}", text.len());
    assert_eq!(
        (truncation.clipped_lines, truncation.omitted_lines),
        (1, Some(0))
    );
    assert_eq!(
        truncation.omitted_bytes,
        40_000 - (text.len() - 12_001 - lines::CLIP.len()) as u64
    );
    assert!(truncation.omitted_from > 6000 && truncation.omitted_from < 46_000);
}

#[test]
fn one_endless_line_loses_its_middle_alone() {
    for length in [50_000, 60_000, 5_000_000] {
        let output = format!("<{}>", "x".repeat(length));
        let View { text, .. } = view(output.as_bytes());
        assert!(
            text.len() > CAP - 100 && text.starts_with("<x") && text.ends_with("x>"),
            "{}",
            text.len()
        );
    }
}

fn marker_of(truncation: &Truncation) -> String {
    format!(
        "\n\n... [omitted {} bytes] ...\n\n",
        truncation.omitted_bytes
    )
}

/// Bytes with many line feeds, long lines, wide characters, control sequences and errors.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[a-z ]{0,40}".prop_map(String::into_bytes),
        4 => Just(b"\n".to_vec()),
        2 => "[ä☃🦀]{1,8}".prop_map(String::into_bytes),
        2 => "(\r|\x08|\x1B\\[[0-9;]{0,5}[mKGD]|\x1B\\][a-z]{0,5}\x07?)".prop_map(String::into_bytes),
        1 => (2000..6000_usize).prop_map(|length| b"x".repeat(length)),
        1 => proptest::collection::vec(1..=255_u8, 0..20),
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn accounts_for_every_byte(output in output(), window in 8..40_000_usize, cap in 0..40_000_usize) {
        let cap_in_force = cap.max(MIN_CAP);
        let View { text, truncation, is_binary, .. } = view_through(&output, window, cap);
        prop_assert!(text.len() <= cap_in_force);
        if is_binary {
            return Ok(());
        }
        let seen = output.len() <= 2 * window;
        let all = clean(&output, 0).into_string();
        let Some(truncation) = truncation else {
            prop_assert!(seen);
            prop_assert_eq!(text, all);
            return Ok(());
        };
        prop_assert!(!seen || all.len() > cap_in_force, "it fits");
        prop_assert_eq!(truncation.original_bytes, output.len() as u64);
        prop_assert_eq!(truncation.retained_bytes + truncation.omitted_bytes, truncation.original_bytes);
        prop_assert_eq!(truncation.omitted_lines.is_some(), seen);

        // Rendering what is shown once more changes nothing.
        prop_assert_eq!(&view_through(text.as_bytes(), window.max(text.len()), cap).text, &text);
    }

    /// Where lines are short and nothing is written over, each byte is where it belongs.
    #[test]
    fn is_true_to_the_output(output in "([a-zä☃]{0,40}\n?){0,200}", window in 8..2000_usize, cap in 0..2000_usize) {
        let output = output.as_bytes();
        let View { text, truncation, .. } = view_through(output, window, cap);
        let Some(truncation) = truncation else { return Ok(()) };
        let from = usize::try_from(truncation.omitted_from).unwrap();
        if truncation.clipped_lines > 0 {
            prop_assert!(text.as_bytes().starts_with(&output[..from]));
            return Ok(());
        }
        let to = from + usize::try_from(truncation.omitted_bytes).unwrap();
        let head = String::from_utf8_lossy(&output[..from]);
        let tail = String::from_utf8_lossy(&output[to..]);
        prop_assert_eq!(text, format!("{}{}{}", head, marker_of(&truncation), tail));
        let lines = output[from..to].iter().filter(|byte| **byte == b'\n').count() as u64;
        prop_assert!(truncation.omitted_lines.is_none_or(|counted| counted == lines));
    }

    #[test]
    fn pages_join_to_the_whole(text in "[a-zä☃🦀\n]{0,200}", size in 4..40_usize) {
        let mut joined = String::new();
        let mut at = 0;
        while at < text.len() {
            let end = (at + size).min(text.len());
            let page = page(&text.as_bytes()[at..end], end < text.len(), size);
            prop_assert!(page.used > 0);
            joined.push_str(&page.text);
            at += page.used;
        }
        prop_assert_eq!(joined, text);
    }
}
