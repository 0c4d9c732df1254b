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

/// All of them are replaced without overlap, as `str.replace` does.
#[test]
fn places_that_overlap_are_ambiguous() {
    for (content, search, matches) in [
        ("aaa", "aa", 2),
        ("}\n}\n}\n", "}\n}\n", 2),
        ("    }\n    }\n    }\n", "    }\n    }\n", 2),
        ("----------", "----", 7),
        ("\n\n\n", "\n\n", 2),
        ("abababa", "aba", 3),
        ("äää", "ää", 2),
    ] {
        let error = apply(content.as_bytes(), &[one(search, "b")]).unwrap_err();
        assert_eq!(error.reason, Reason::Ambiguous { matches }, "{content:?}");
    }
    assert_eq!(apply(b"aaaaa", &[all("aa", "b")]).unwrap(), b"bba");
    assert_eq!(apply(b"}\n}\n", &[one("}\n}\n", "}\n")]).unwrap(), b"}\n");
}
