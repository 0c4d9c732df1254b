//! Characters that the search string has in the notation of another language, and what a reply showed of a long line.

use super::super::{exact, windows};

/// What `read_file` puts in the place of the rest of a line.
const CUT: &str = "... [truncated]";

/// Says that the search string has escapes of HTML or of a string literal, if it is found without them.
pub(super) fn hint(text: &[u8], search: &str) -> Option<String> {
    let is_found = |other: &String| {
        other != search
            && !other.trim().is_empty()
            && (exact::is_found(text, other.as_bytes())
                || windows::find(text, other.as_bytes()).is_some())
    };
    if search.contains(CUT) {
        return Some(format!(
            "Your search string has \"{CUT}\", which stands for the rest of a line that was shown in part; search for a shorter text"
        ));
    }
    let entities = Some(without_entities(search)).filter(is_found);
    let entities = entities.map(|_| ("entities of HTML", "&lt;"));
    let escapes = || {
        Some(without_escapes(search))
            .filter(is_found)
            .map(|_| ("escapes", "\\n"))
    };
    let (what, such) = entities.or_else(escapes)?;
    Some(format!(
        "Your search string has {what} such as {such}; pass the characters themselves"
    ))
}

fn without_entities(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(text.to_owned(), |text, (entity, char)| {
            text.replace(entity, char)
        })
}

/// Returns a text without the backslashes that a string literal has, of which JSON takes one level away.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(escaped @ ('\\' | '"' | '\'' | '/' | '`' | '$')) => plain.push(escaped),
            other => plain.extend([Some('\\'), other].into_iter().flatten()),
        }
    }
    plain
}
