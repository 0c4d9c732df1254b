//! Units and levels.

use super::*;

fn unit(text: &str) -> Option<Unit> {
    Unit::of(Lines(text.as_bytes()))
}

#[test]
fn finds_the_unit() {
    for (name, text, expected) in [
        ("no lines", "", None),
        ("no indentation", "a\nb\n", None),
        ("tabs", "a\n\tb\n\t\tc\n", Some(Unit::Tab)),
        (
            "four spaces",
            "a\n    b\n        c\n",
            Some(Unit::Spaces(4)),
        ),
        ("two spaces", "a\n  b\n    c\n", Some(Unit::Spaces(2))),
        ("four and six", "    a\n      b\n", Some(Unit::Spaces(2))),
        ("tabs and spaces", "\ta\n    b\n", None),
        ("a tab, then spaces in a line", "\t  a\n", None),
        ("spaces, then a tab in a line", "  \ta\n", None),
        (
            "white space only is skipped",
            "   \n\ta\n  \t \n",
            Some(Unit::Tab),
        ),
        ("nothing but white space", "   \n\t\n", None),
        (
            "blank lines are ignored",
            "\n    a\n\n\n    b\n",
            Some(Unit::Spaces(4)),
        ),
    ] {
        assert_eq!(unit(text), expected, "{name}");
    }
}

#[test]
fn what_aligns_is_no_unit() {
    assert_eq!(unit("/*\n * a\n */\n"), None);
    assert_eq!(unit("    a(b,\n           c)\n"), None);
    assert_eq!(unit("            a\n"), None);
}

#[test]
fn finds_the_greatest_common_divisor() {
    for (one, other, expected) in [
        (0, 0, 0),
        (0, 4, 4),
        (4, 0, 4),
        (4, 4, 4),
        (3, 5, 1),
        (4, 6, 2),
        (8, 12, 4),
        (2, 4, 2),
    ] {
        assert_eq!(gcd(one, other), expected, "{one}, {other}");
    }
}

#[test]
fn finds_the_level() {
    for (lead, unit, expected) in [
        ("", Unit::Spaces(4), Some(0)),
        ("", Unit::Tab, Some(0)),
        ("    ", Unit::Spaces(4), Some(1)),
        ("      ", Unit::Spaces(2), Some(3)),
        ("\t\t", Unit::Tab, Some(2)),
        ("   ", Unit::Spaces(4), None),
        ("\t  ", Unit::Spaces(2), None),
    ] {
        assert_eq!(unit.level(lead.as_bytes()), expected, "{lead:?}");
    }
}
