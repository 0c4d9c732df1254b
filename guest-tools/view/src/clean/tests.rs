//! Lines as a terminal shows them, and as they are cleaned here.

use proptest::prelude::*;

use super::*;

fn cleaned(bytes: impl AsRef<[u8]>) -> String {
    clean(bytes.as_ref(), 0).into_string()
}

#[test]
fn leaves_text_alone() {
    for text in [
        "",
        "a\n",
        "a\tb  c \n\n☃ é e\u{301} 👩\u{200D}👩\u{200D}👧 ❤\u{FE0F}\n",
        "none at the end",
    ] {
        assert_eq!(cleaned(text), text);
    }
}

#[test]
fn resolves_what_was_written_over() {
    for (raw, expected) in [
        ("dos\r\nline\r\n", "dos\nline\n"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("10%\r", "10%"),
        ("long text\rshort\n", "shorttext\n"),
        ("long text\r\x1B[Kshort\n", "short\n"),
        ("long text\x1B[2K\rshort\n", "short\n"),
        ("long text\x1B[2K\x1B[1Gshort\n", "short\n"),
        ("long text\r\x1B[Jshort\n", "short\n"),
        ("long text\x1B[4D\x1B[1K\n", "      ext\n"),
        ("abc\x1B[2K\n", "\n"),
        ("abc\x08\x08\x08\x08x\n", "xbc\n"),
        ("b\x08bo\x08ol\x08ld _\x08u\n", "bold u\n"),
        ("a\x1B[2Cb\x1B[99Gc\n", "a b c\n"),
        ("abc\x1B[2Dx\x1B[Cy\n", "axcy\n"),
        ("ä☃\r☃\n", "☃☃\n"),
    ] {
        assert_eq!(cleaned(raw), expected, "{raw:?}");
    }
}

#[test]
fn removes_control_sequences() {
    for (raw, expected) in [
        ("\x1B[1;31mred\x1B[0m\n", "red\n"),
        ("\x1B[38;2;1;2;3mred\x1B[m\n", "red\n"),
        ("\x1B]0;title\x07text\n", "text\n"),
        ("\x1B]8;;http://x\x1B\\link\x1B]8;;\x1B\\!\n", "link!\n"),
        ("\x1B]0;☃ \x18text\n", "text\n"),
        ("\x1BPsome\x1B\\text\n", "text\n"),
        ("\x1B_some\x1B\\text\n", "text\n"),
        ("\x1B(Btext\x1B=\x1B7\x1B[?25l\n", "text\n"),
        ("\x1B[6n\x1B[?1049htext\n", "text\n"),
        // The parser ignores such a sequence, and the text that follows is text.
        ("\x1B[1<2mtext\n", "text\n"),
        ("\x1B[1<2mä\n", "ä\n"),
        ("\x1B[1<2mab\rc\n", "cb\n"),
        ("\x1B[\x1B[1mtext\n", "text\n"),
    ] {
        assert_eq!(cleaned(raw), expected, "{raw:?}");
    }
}

#[test]
fn hides_nothing_behind_a_sequence_without_an_end() {
    for (raw, expected) in [
        ("\x1B]0;title\nnext\n", "0;title\nnext\n"),
        ("\x1BPa\x1B]b\x1B^c☃\r\nnext", "c☃\nnext"),
        ("a\x1B[31\nb", "a\nb"),
        ("a\x1B", "a"),
        ("a\x1B[", "a"),
    ] {
        assert_eq!(cleaned(raw), expected, "{raw:?}");
    }
}

#[test]
fn shows_what_nobody_sees_by_its_number() {
    let raw = "a\u{200B}\u{202E}\u{2066}\u{FEFF}\u{E0041}\u{85}b\x07\x0B\x0C\x7F\x0E\n";
    let text = clean(raw.as_bytes(), 0);
    assert_eq!(text.escaped, 11);
    assert_eq!(
        text.into_string(),
        "a<U+200B><U+202E><U+2066><U+FEFF><U+E0041><U+0085>b<U+0007><U+000B><U+000C><U+007F><U+000E>\n"
    );
    // In what a terminal does not show, there is nothing to see either.
    assert_eq!(cleaned("a\x1B]0;\u{200B}\x07b\x1B[1m\n"), "ab\n");
}

#[test]
fn counts_errors() {
    let text = clean(b"a\xFFb\xE2\x98c\n\xC3(\n", 0);
    assert_eq!(text.encoding_errors, 3);
    assert_eq!(text.into_string(), "a\u{FFFD}b\u{FFFD}c\n\u{FFFD}(\n");
}

#[test]
fn counts_errors_once() {
    assert_eq!(clean(b"\x1B]0;a\xFFb\n\xFE", 0).encoding_errors, 2);
}

#[test]
fn a_window_may_begin_in_a_colour() {
    let coloured = b"\x1B[1mx";
    assert_eq!(cut_at_start(b"8;5;12mfoo", coloured), 7);
    for (bytes, before) in [
        (&b"8;5;12mfoo"[..], &b"plain"[..]),
        (b"12 m", coloured),
        (b"make", coloured),
        (b"12Kfoo", coloured),
        (b"", coloured),
    ] {
        assert_eq!(cut_at_start(bytes, before), 0);
    }
}

#[test]
fn a_progress_bar_becomes_its_last_line() {
    let bar: String = (0..=10_000)
        .map(|step| {
            format!(
                "\r\x1B[2K[{}{}] {step}",
                "#".repeat(step / 500),
                " ".repeat(20 - step / 500)
            )
        })
        .collect();
    let text = clean(bar.as_bytes(), 0);
    assert_eq!(text.as_str(), "[####################] 10000");
    assert_eq!(text.raw_after(0), 0);
    assert_eq!(text.raw_after(text.as_str().len()), bar.len() as u64);
}

#[test]
fn finds_sequences_that_are_not_complete() {
    for (raw, expected) in [
        ("a\x1B", 1),
        ("a\x1B[1;3", 5),
        ("\x1B]0;title", 9),
        ("a\x1B[1;3\n", 0),
        ("a\x1B[1;3m", 0),
        ("a\x1B[1m\x1B[1", 3),
        ("\x1B]0;title\x1B\\", 0),
        ("text", 0),
    ] {
        assert_eq!(cut_at_end(raw.as_bytes()), expected, "{raw:?}");
    }
}

/// What programs write, and what they never should.
fn output() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&[u8]; 34] = [
        b"a",
        b"word ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b"\x08",
        b"\x1B",
        b"\x1B[",
        b"\x1B]",
        b"\x1BP",
        b"\x1B_",
        b"\x1B\\",
        b"\x07",
        b"\x18",
        b"\x1B[1m",
        b"\x1B[K",
        b"\x1B[1K",
        b"\x1B[2K",
        b"\x1B[3G",
        b"\x1B[2C",
        b"\x1B[2D",
        b"\x1B[65535C",
        b"\x1B[J",
        b"\x1B[?25l",
        b";",
        b"9",
        b"<",
        "ä".as_bytes(),
        "☃".as_bytes(),
        "\u{200B}".as_bytes(),
        b"\xFF",
        b"\xE2\x98",
        b"\x9C",
    ];
    proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..60)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn is_clean(raw in output()) {
        let text = clean(&raw, 7);
        let shown = text.as_str();
        prop_assert!(!shown.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{:?}", shown);
        prop_assert_eq!(cleaned(shown), shown);
        let lines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
        prop_assert_eq!(lines(shown.as_bytes()), lines(&raw));
        // Two bytes of a sequence make one blank, one byte that is no UTF-8 three of text, and one control character eight.
        prop_assert!(shown.len() <= raw.len() * 8);
    }

    #[test]
    fn knows_where_everything_came_from(raw in output()) {
        let text = clean(&raw, 7);
        let end = 7 + raw.len() as u64;
        let positions: Vec<_> = text.as_str().char_indices().map(|(at, _)| at).chain([text.as_str().len()]).collect();
        for pair in positions.windows(2) {
            let (one, two) = (pair[0], pair[1]);
            prop_assert!(text.raw_after(one) <= text.raw_after(two));
            prop_assert!(text.raw_before(one) <= text.raw_before(two));
            prop_assert!(text.raw_after(one) <= text.raw_before(two));
        }
        for &at in &positions {
            prop_assert!((7..=end).contains(&text.raw_after(at)) && (7..=end).contains(&text.raw_before(at)));
        }
        prop_assert!(text.raw_between(0, text.as_str().len()) <= raw.len() as u64);
    }

    #[test]
    fn lines_are_cleaned_by_themselves(one in output(), two in output()) {
        let apart = cleaned([&one[..], b"\n"].concat()) + &cleaned(&two);
        prop_assert_eq!(cleaned([&one[..], b"\n", &two].concat()), apart);
    }
}

/// Whatever stands in it, the work for an output grows with its length alone: work that grew with its square would take minutes here.
#[test]
fn hostile_outputs_take_no_longer_than_others() {
    for piece in [
        "\u{200B}\n",
        "\x1B]",
        "\x1B[65535C",
        "\x1B[1<",
        "\r",
        "a\x08",
        "\x1B[1Kx",
        "\u{E0041}",
    ] {
        let raw = piece.repeat(500_000 / piece.len());
        let shown = cleaned(&raw);
        assert!(shown.len() <= raw.len() * 8, "{piece:?}");
    }
}
