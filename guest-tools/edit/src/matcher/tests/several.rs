//! Several edits of one file.

use super::*;

#[test]
fn applies_each_edit_to_the_result_of_the_one_before() {
    let merged = apply(b"one\n", &[one("one", "CHANGED"), one("CHANGED", "FINAL")]);
    assert_eq!(merged.unwrap(), b"FINAL\n");
    let all_of_them = apply(b"foo bar", &[one("foo", "bar"), all("bar", "qux")]);
    assert_eq!(all_of_them.unwrap(), b"qux qux");
    assert_eq!(apply(b"foo", &[]).unwrap(), b"foo");
}

#[test]
fn names_the_edit_that_cannot_be_made() {
    let error = apply(b"foo bar", &[one("foo", "bar"), one("bar", "qux")]).unwrap_err();
    assert_eq!(
        (error.index, &error.reason),
        (1, &Reason::Ambiguous { matches: 2 })
    );
    let error = apply(b"foo", &[one("", "bar"), one("foo", "bar")]).unwrap_err();
    assert_eq!((error.index, &error.reason), (0, &Reason::EmptySearch));
}
