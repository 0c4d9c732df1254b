//! What is said of search strings that are nearly right.

use super::*;

fn hint_of(text: &str, search: &str) -> String {
    let edit = Edit {
        search,
        replace: "",
        replace_all: false,
    };
    hint(text.as_bytes(), &edit, false).unwrap_or_default()
}

#[test]
fn characters_that_look_the_same_are_named() {
    for (text, search, expected) in [
        (
            "a\u{A0}b\n",
            "a b",
            "Line 1 of the file has U+00A0 (no-break space) where your search string has a blank",
        ),
        (
            "a b\n",
            "a\u{A0}b",
            "Line 1 of the file has a blank where your search string has U+00A0 (no-break space)",
        ),
        (
            "x\nprint(\u{201C}hi\u{201D})\n",
            "print(\"hi\")",
            "Line 2 of the file has \"\u{201C}\" (U+201C) where your search string has \"\"\" (U+0022). Line 2 of the file has \
             \"\u{201D}\" (U+201D) where your search string has \"\"\" (U+0022)",
        ),
        (
            "don\u{2019}t\n",
            "don't",
            "Line 1 of the file has \"\u{2019}\" (U+2019) where your search string has \"'\" (U+0027)",
        ),
        (
            "1990\u{2013}1999\n",
            "1990-1999",
            "Line 1 of the file has \"\u{2013}\" (U+2013) where your search string has \"-\" (U+002D)",
        ),
        (
            "foo\u{200B}bar\n",
            "foobar",
            "Line 1 of the file has \"o\" (U+006F) and U+200B (zero-width space) where your search string has \"o\" (U+006F)",
        ),
        (
            "cafe\u{301}\n",
            "caf\u{E9}",
            "Line 1 of the file has \"e\" (U+0065) and U+0301 (combining accent) where your search string has \"\u{E9}\" (U+00E9)",
        ),
        (
            "if x:\n\treturn\t1\n",
            "if x:\n    return 1\n",
            "Line 2 of the file has a tab where your search string has a blank",
        ),
        (
            "a  b\n",
            "a b",
            "Line 1 of the file has 2 blanks where your search string has a blank",
        ),
        (
            "\u{FF21}\u{FF22}\u{2026}\n",
            "AB...",
            "Line 1 of the file has \"\u{FF21}\" (U+FF21) and \"\u{FF22}\" (U+FF22) and \"\u{2026}\" (U+2026) where your search \
             string has \"A\" (U+0041) and \"B\" (U+0042) and \".\" (U+002E) and \".\" (U+002E) and more",
        ),
        (
            "x\nend a\u{A0}b\nc\u{2014}d\ne f\n",
            "a b\nc-d\ne",
            "Line 2 of the file has U+00A0 (no-break space) where your search string has a blank. Line 3 of the file has \
             \"\u{2014}\" (U+2014) where your search string has \"-\" (U+002D)",
        ),
    ] {
        let hint = hint_of(text, search);
        let (differences, lines) = hint.split_once(". The nearest line").unwrap_or_default();
        assert_eq!(differences, expected, "{search:?}");
        assert!(
            lines.starts_with(" is:\n") || lines.starts_with("s are:\n"),
            "{hint}"
        );
    }
    assert_eq!(
        hint_of("x\na\u{A0}b c\u{200B}\n", "a b"),
        "Line 2 of the file has U+00A0 (no-break space) where your search string has a blank. The nearest line is:\n2\ta<U+00A0>b c<U+200B>"
    );
}

#[test]
fn what_lines_were_shown_with_is_left_out() {
    let file = "fn main() {\n    run();\n}\n";
    for (search, separator) in [
        ("1\tfn main() {\n2\t    run();", "the tabs"),
        (
            "1\u{2192}fn main() {\n2\u{2192}    run();\n",
            "the \"\u{2192}\"",
        ),
        ("     2\u{2192}    run();", "the \"\u{2192}\""),
        ("1|fn main() {\n2|    run();", "the \"|\""),
        ("1: fn main() {\n2:     run();", "the \": \""),
    ] {
        assert_eq!(
            hint_of(file, search),
            format!(
                "Your search string has the line numbers that the file was shown with; leave them and {separator} behind them out"
            )
        );
    }
    for search in [
        "-    run();\n",
        " fn main() {\n-    run();\n+    walk();\n }\n",
        "@@ -1,3 +1,3 @@\n fn main() {\n-    run();\n",
        "+fn main() {\n+    run();\n",
    ] {
        let hint = hint_of(file, search);
        assert!(
            hint.starts_with("Your search string has the marks of a diff"),
            "{search}: {hint}"
        );
    }
}

#[test]
fn the_nearest_lines_are_shown() {
    let file = "use std::fs;\n\nfn read(path: &str) -> String {\n    fs::read_to_string(path).unwrap()\n}\n\nfn other() {}\n";
    assert_eq!(
        hint_of(
            file,
            "fn read(path: &Path) -> String {\n    fs::read_to_string(path).unwrap()\n}\n"
        ),
        "The nearest lines are:\n3\tfn read(path: &str) -> String {\n4\t    fs::read_to_string(path).unwrap()\n5\t}"
    );
    assert_eq!(
        hint_of(file, "read_to_strings(path)"),
        "The nearest line is:\n4\t    fs::read_to_string(path).unwrap()"
    );
    let long: String = (0..20)
        .map(|line| format!("let value_{line} = {line};\r\n"))
        .collect();
    let search: String = (5..15)
        .map(|line| format!("let valeu_{line} = {line};\n"))
        .collect();
    assert_eq!(
        hint_of(&long, &search),
        "The nearest lines are:\n6\tlet value_5 = 5;\n7\tlet value_6 = 6;\n8\tlet value_7 = 7;\n9\tlet value_8 = 8;\n10\tlet \
         value_9 = 9;\n(5 more)"
    );
    for (file, search) in [
        ("", "a"),
        ("abc def\n", "xyz uvw"),
        ("a\n", "\n"),
        ("fn main() {}\n", "import os"),
    ] {
        assert_eq!(hint_of(file, search), "", "{search:?}");
    }
    let wide = format!("{}\n", "needle in a haystack ".repeat(100));
    let hint = hint_of(&wide, "needles in a haystack");
    assert!(hint.len() < 250 && hint.ends_with("..."), "{hint}");
}

#[test]
fn escapes_of_other_languages_are_told() {
    let file = "if a < b && c {\n\tprint(\"x\\n\");\n}\n";
    for (search, expected) in [
        (
            "if a &lt; b &amp;&amp; c {",
            "entities of HTML such as &lt;",
        ),
        ("if a < b && c {\\n\\tprint", "escapes such as \\n"),
        ("print(\\\"x\\\\n\\\");", "escapes such as \\n"),
        (
            "if a < b... [truncated]",
            "\"... [truncated]\", which stands for the rest of a line",
        ),
    ] {
        let hint = hint_of(file, search);
        assert!(
            hint.starts_with(&format!("Your search string has {expected}")),
            "{search}: {hint}"
        );
    }
}
