//! Files that are no plain text, and no byte that changes without being asked to.

use super::*;

fn edited(content: &[u8], edit: Edit<'_>) -> Vec<u8> {
    apply(content, &[edit]).unwrap()
}

#[test]
fn bytes_that_are_no_text_survive() {
    let file = b"\xFF\xFE\0a\x80\n\tkey\xC3\n\tvalue  \n\0\xE2\x98\n\r\r\n\xF0";
    let expected = b"\xFF\xFE\0a\x80\n\tkey\xC3\n\tVALUE  \n\0\xE2\x98\n\r\r\n\xF0";
    assert_eq!(edited(file, one("value", "VALUE")), expected);
    assert_eq!(edited(file, one("  value\n", "  VALUE\n")), expected);
    assert_eq!(edited(b"a\0b\n", one("\0", "")), b"ab\n");
}

#[test]
fn invalid_bytes_are_not_white_space_and_match_nothing() {
    let text = refusal("foo\n", one("foo\u{FFFD}", "bar"));
    assert!(text.starts_with(NOT_FOUND), "{text}");
    let error = apply(b"\xFFfoo\n", &[one("  foo\n", "  bar\n")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{NOT_FOUND}. The nearest line is:\n1\t\u{FFFD}foo")
    );
}

#[test]
fn the_mark_at_the_beginning_is_set_aside() {
    for (search, replace, expected) in [
        ("first\n", "FIRST\n", "\u{FEFF}FIRST\nsecond  \n"),
        ("first", "", "\u{FEFF}\nsecond  \n"),
        (
            "  first\nsecond\n",
            "  FIRST\nsecond\n",
            "\u{FEFF}FIRST\nsecond  \n",
        ),
        (
            "\u{FEFF}first\n",
            "\u{FEFF}FIRST\n",
            "\u{FEFF}FIRST\nsecond  \n",
        ),
        (
            "\u{FEFF}first\nsecond\n",
            "\u{FEFF}FIRST\nsecond\n",
            "\u{FEFF}FIRST\nsecond  \n",
        ),
        ("\u{FEFF}first\n", "FIRST\n", "FIRST\nsecond  \n"),
        ("\u{FEFF}", "", "first\nsecond  \n"),
        ("first\n", "\u{FEFF}FIRST\n", "\u{FEFF}FIRST\nsecond  \n"),
    ] {
        let result = edited("\u{FEFF}first\nsecond  \n".as_bytes(), one(search, replace));
        assert_eq!(String::from_utf8(result).unwrap(), expected, "{search:?}");
    }
    // One that stands elsewhere is text.
    let twice = "\u{FEFF}\u{FEFF}a\nb\u{FEFF}";
    assert_eq!(
        edited(twice.as_bytes(), one("a", "A")),
        twice.replace('a', "A").as_bytes()
    );
    assert_eq!(edited("a\u{FEFF}".as_bytes(), one("\u{FEFF}", "!")), b"a!");
    assert_eq!(edited(b"a", one("a", "\u{FEFF}a")), "\u{FEFF}a".as_bytes());
}

#[test]
fn white_space_of_unicode_is_white_space() {
    let file = "\u{3000}key\u{A0}\n\tother\n";
    let expected = "\u{3000}KEY\u{A0}\n\tother\n";
    assert_eq!(
        edited(file.as_bytes(), one("  key\n", "  KEY\n")),
        expected.as_bytes()
    );
}

#[test]
fn a_line_of_a_million_bytes() {
    let line = "x".repeat(1 << 20);
    let file = format!("\ta\n\t{line} \n\tb\n");
    let search = format!("  {line}\n  b\n");
    let replace = format!("  {line}y\n  c\n");
    assert_eq!(
        edited(file.as_bytes(), one(&search, &replace)),
        format!("\ta\n\t{line}y \n\tc\n").as_bytes()
    );
}

#[test]
fn a_file_that_would_become_too_long() {
    let long = "y".repeat(1 << 20);
    let file = "x\n".repeat(1 << 10);
    let expected = "the file would become longer than 16777216 bytes. Replace fewer matches, or with less text";
    assert_eq!(refusal(&file, all("x", &long)), expected);
    assert_eq!(refusal(&file, all(" x", &format!(" {long}"))), expected);
    // A file that is longer already may stay so.
    let file = vec![b'a'; MAX_RESULT + 1];
    let mut file = [&file[..], b"b"].concat();
    let result = edited(&file, one("b", "c"));
    *file.last_mut().unwrap() = b'c';
    assert!(result == file);
}
