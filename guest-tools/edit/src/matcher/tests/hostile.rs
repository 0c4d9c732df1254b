//! Files and edits that would take minutes if anything grew with the square of their size.

use super::*;

const MANY: usize = 300_000;

#[test]
fn a_search_that_almost_matches_at_every_line() {
    let file = " a\n".repeat(MANY) + "b\n";
    let search = "\ta\n".repeat(MANY / 3) + "\tb\n\ta\n";
    assert_eq!(refusal(&file, one(&search, "other")), NOT_FOUND);
    // As a replacement it is looked for as well.
    assert_eq!(refusal(&file, one("nowhere", &search)), NOT_FOUND);
    let search = "\ta\n".repeat(MANY / 3);
    let expected = format!("matches {} occurrences", MANY - MANY / 3 + 1);
    assert!(refusal(&file, one(&search, "other")).contains(&expected));
    let result = apply(file.as_bytes(), &[all(&search, "\tc\n")]).unwrap();
    assert_eq!(result, b" c\n c\n c\nb\n");
}

#[test]
fn lines_that_repeat_like_the_words_of_fibonacci() {
    let (mut one_before, mut word) = ("a\n".to_owned(), "b\n".to_owned());
    while word.len() < 2 * MANY {
        one_before = [word.as_str(), &one_before].concat();
        std::mem::swap(&mut one_before, &mut word);
    }
    let search = format!(" {}c\n", &word[..MANY]);
    assert_eq!(
        refusal(&format!("{word}{word}c\n"), one(&search, "other")),
        NOT_FOUND
    );
}

#[test]
fn an_edit_at_every_line() {
    let file = "        a\n".repeat(MANY);
    let result = apply(file.as_bytes(), &[all("\ta\n", "\tif b\n\t\ta\n")]).unwrap();
    assert_eq!(
        result.len(),
        MANY * ("        if b\n                a\n".len())
    );
    let result = apply(file.as_bytes(), &[all("\n", "\r\n")]).unwrap();
    assert_eq!(result.len(), MANY * "        a\r\n".len());
}

#[test]
fn a_long_blank_line_of_the_edit_at_every_line() {
    let blank = " ".repeat(MANY);
    let file = "a\n\n".repeat(MANY);
    let search = format!("\ta\n{blank}\n");
    let result = apply(file.as_bytes(), &[all(&search, &format!("\tb\n{blank}\n"))]).unwrap();
    assert_eq!(result, "b\n\n".repeat(MANY).into_bytes());
}

#[test]
fn white_space_without_an_end() {
    let file = " ".repeat(MANY) + "\u{3000}".repeat(MANY).as_str() + "x";
    let expected = &file[..file.len() - 1];
    let result = apply(file.as_bytes(), &[one("\tx\n", "\ty\n\t\tz\n")]).unwrap();
    assert_eq!(result, format!("{expected}y\n{expected}\tz").into_bytes());
}

#[test]
fn a_staircase() {
    let stairs: String = (1..1000).map(|width| " ".repeat(width) + "x\n").collect();
    let floor = (" ".repeat(1000) + "y\n").repeat(500);
    let replace = format!(" k\n{stairs}{floor} end\n");
    let result = apply(b"\tk\n\tend\n", &[one(" k\n end\n", &replace)]).unwrap();
    assert_eq!(result.split(|byte| *byte == b'\n').count(), 1003 + 499);
    let file = stairs.repeat(2) + "          key\n";
    assert!(apply(file.as_bytes(), &[one("\tkey\n", "\tif\n\t\tkey\n")]).is_ok());
}

#[test]
fn hints_for_lines_that_are_nearly_alike() {
    let nearly = |last: &str| "ab".repeat(500) + last;
    let file = format!("{}\n", nearly("==ab==ba")).repeat(MANY / 1000);
    let search: String = (0..500)
        .map(|index| nearly(&format!("==ba===ab{index}\n")))
        .collect();
    let refused = refusal(&file, one(&search, "other"));
    assert!(
        refused.len() < 2000 && refused.starts_with(NOT_FOUND),
        "{refused}"
    );
    let file = "[==]\n".repeat(MANY);
    let refusal = refusal(&file, one("[=====]\n", "other"));
    assert!(
        refusal.ends_with(&format!("2 at line 5 and {} more", MANY - 5)),
        "{refusal}"
    );
}

#[test]
fn the_text_of_a_refusal_stays_short() {
    let line = "=".repeat(3000);
    let file: String = (0..2000)
        .map(|index| format!("{index}[{line}]\n"))
        .collect();
    let search: String = (0..2000)
        .map(|index| format!("{index}[{line}=]\n"))
        .collect();
    let refusal = refusal(&file, one(&search, "other"));
    assert!(
        refusal.len() < 1000 && refusal.ends_with("(and 5 more)"),
        "{refusal}"
    );
}
