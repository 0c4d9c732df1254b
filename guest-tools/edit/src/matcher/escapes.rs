//! Characters that are shown by their numbers, because they have no ink: `<U+200B>`.

use super::Edit;

/// Returns search string and replacement with the characters themselves; `None` if the search string has none by its number.
pub(super) fn resolved(edit: &Edit<'_>) -> Option<(String, String)> {
    let mut found = Vec::new();
    let search = resolve(edit.search, |char| {
        found.push(char);
        true
    });
    // In the replacement, the others are text.
    (!found.is_empty()).then(|| (search, resolve(edit.replace, |char| found.contains(&char))))
}

fn resolve(text: &str, mut takes: impl FnMut(char) -> bool) -> String {
    let mut resolved = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("<U+") {
        resolved.push_str(before);
        let char = behind.split_once('>').and_then(|(digits, after)| {
            let is_hex = (4..=6).contains(&digits.len())
                && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
            Some((char::from_u32(code)?, after))
        });
        match char.filter(|(char, _)| takes(*char)) {
            Some((char, after)) => {
                resolved.push(char);
                rest = after;
            }
            None => {
                resolved.push_str("<U+");
                rest = behind;
            }
        }
    }
    resolved + rest
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn an_edit_of_what_was_shown_is_one_of_what_is_there() {
        let edit = |content: &str, search, replace| {
            let edit = Edit {
                search,
                replace,
                replace_all: false,
            };
            apply(content.as_bytes(), &[edit]).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        for (content, search, replace, expected) in [
            ("foo\u{200B}bar\n", "foo<U+200B>bar", "foobar", "foobar\n"),
            (
                "  a\u{200B}b\n",
                "a<U+200B>b\n",
                "<U+200B>c<U+200C>\n",
                "  \u{200B}c<U+200C>\n",
            ),
            ("a\x0Cb\u{E0041}", "<U+000C>b<U+E0041>", "", "a"),
            // What is there to the letter comes first.
            ("<U+200B>\u{200B}", "<U+200B>", "x", "x\u{200B}"),
        ] {
            assert_eq!(edit(content, search, replace).unwrap(), expected);
        }
        for search in [
            "<U+>",
            "<U+20>",
            "<U+D800>",
            "<U+110000>",
            "<U+200B",
            "a<U+200C>",
        ] {
            let error = edit("a\u{200B}", search, "x").unwrap_err();
            assert!(matches!(error.reason, Reason::NotFound { .. }), "{search}");
        }
    }
}
