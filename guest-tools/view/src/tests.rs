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
        let View { text, truncation } = view(output.as_bytes());
        let truncation = truncation.unwrap();
        assert!(text.len() <= CAP && text.len() > CAP - 16, "{}", text.len());
        assert_eq!(truncation.original_bytes, output.len() as u64);
        assert!(text.contains(&marker_of(&truncation)), "{truncation:?}");
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
    let page_of = |bytes: &[u8], more| page(bytes, more);
    assert_eq!(
        page_of(b"ab\xE2\x98", true),
        Page {
            text: "ab".into(),
            used: 2
        }
    );
    assert_eq!(
        page_of(b"ab\xE2\x98", false),
        Page {
            text: "ab\u{FFFD}".into(),
            used: 4
        }
    );
    assert_eq!(
        page_of(b"\xE2\x98", true),
        Page {
            text: "\u{FFFD}".into(),
            used: 2
        }
    );
    assert_eq!(
        page_of(b"", true),
        Page {
            text: String::new(),
            used: 0
        }
    );
}

fn marker_of(truncation: &Truncation) -> String {
    format!(
        "\n\n... [omitted {} bytes] ...\n\n",
        truncation.omitted_bytes
    )
}

/// Bytes with many line feeds, wide characters and errors.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[a-z ]{0,40}".prop_map(String::into_bytes),
        4 => Just(b"\n".to_vec()),
        2 => "[ä☃🦀]{1,8}".prop_map(String::into_bytes),
        2 => proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn is_true_to_the_output(output in output(), window in 8..2000_usize, cap in 0..2000_usize) {
        let cap_in_force = cap.max(MIN_CAP);
        let View { text, truncation } = view_through(&output, window, cap);
        let all = String::from_utf8_lossy(&output);
        prop_assert!(text.len() <= cap_in_force);
        let seen = output.len() <= 2 * window;
        let Some(truncation) = truncation else {
            prop_assert!(seen);
            prop_assert_eq!(text, all);
            return Ok(());
        };
        prop_assert!(!seen || all.len() > cap_in_force, "it fits");
        prop_assert_eq!(truncation.original_bytes, output.len() as u64);
        prop_assert_eq!(truncation.retained_bytes + truncation.omitted_bytes, truncation.original_bytes);

        let from = usize::try_from(truncation.omitted_from).unwrap();
        let to = from + usize::try_from(truncation.omitted_bytes).unwrap();
        let head = String::from_utf8_lossy(&output[..from]);
        let tail = String::from_utf8_lossy(&output[to..]);
        prop_assert_eq!(text, format!("{}{}{}", head, marker_of(&truncation), tail));
        prop_assert!(from > 0 || window < 16 || !head.is_empty());
        if window >= 8 {
            prop_assert!(to < output.len() || output[output.len() - 3..].iter().all(|byte| *byte >= 0x80));
        }
        let lines = output[from..to].iter().filter(|byte| **byte == b'\n').count() as u64;
        prop_assert!(truncation.omitted_lines.is_none_or(|counted| counted == lines));
        prop_assert_eq!(truncation.omitted_lines.is_some(), seen);
    }

    #[test]
    fn pages_join_to_the_whole(text in "[a-zä☃🦀\n]{0,200}", size in 4..40_usize) {
        let mut joined = String::new();
        let mut at = 0;
        while at < text.len() {
            let end = (at + size).min(text.len());
            let page = page(&text.as_bytes()[at..end], end < text.len());
            prop_assert!(page.used > 0);
            joined.push_str(&page.text);
            at += page.used;
        }
        prop_assert_eq!(joined, text);
    }
}
