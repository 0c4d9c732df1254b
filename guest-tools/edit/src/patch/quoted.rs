//! Names of files in unified diffs.

use std::borrow::Cow;

/// The name that stands for no file.
pub(super) const NONE: &str = "/dev/null";

/// The prefixes of the old and the new name that git writes.
const PREFIXES: [(&str, &str); 5] = [
    ("a/", "b/"),
    ("i/", "w/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
];

/// The most bytes of two names that are told apart.
const LONGEST: usize = 2 * 4096;

/// Returns the name behind `--- ` or `+++ `, without the time that may follow.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    if let Some((name, _)) = unquote(text) {
        return name.into();
    }
    let name = text.split('\t').next().unwrap_or(text);
    name.trim_end().into()
}

/// Returns the text of a name that git quotes, as in C, and what follows; `None` if it is not quoted.
pub(super) fn unquote(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    loop {
        let end = rest.find(['"', '\\'])?;
        let (plain, behind) = rest.split_at_checked(end)?;
        bytes.extend_from_slice(plain.as_bytes());
        let Some(escape) = behind.strip_prefix('\\') else {
            return Some((
                String::from_utf8_lossy(&bytes).into_owned(),
                behind.strip_prefix('"')?,
            ));
        };
        if let Some(octal) = escape.get(..3)
            && let Ok(byte) = u8::from_str_radix(octal, 8)
        {
            bytes.push(byte);
            rest = escape.get(3..)?;
            continue;
        }
        let char = escape.chars().next()?;
        bytes.push(match char {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'a' => 7,
            'b' => 8,
            'v' => 11,
            'f' => 12,
            '"' | '\\' => u8::try_from(char).unwrap_or(b'?'),
            _ => return None,
        });
        rest = escape.get(1..)?;
    }
}

/// Returns the old and the new name without the prefixes of git, if both have theirs.
pub(super) fn without_prefixes<'a>(
    old: Cow<'a, str>,
    new: Cow<'a, str>,
) -> (Cow<'a, str>, Cow<'a, str>) {
    let has = |name: &str, prefix: &str| name == NONE || name.starts_with(prefix);
    let both_none = old == NONE && new == NONE;
    let fits = |(one, other): &&(&str, &str)| has(&old, one) && has(&new, other) && !both_none;
    match PREFIXES.iter().find(fits) {
        None => (old, new),
        Some((one, other)) => (without(old, one), without(new, other)),
    }
}

fn without<'a>(name: Cow<'a, str>, prefix: &str) -> Cow<'a, str> {
    match name {
        Cow::Borrowed(name) => name.strip_prefix(prefix).unwrap_or(name).into(),
        Cow::Owned(name) => match name.strip_prefix(prefix) {
            Some(rest) => rest.to_owned().into(),
            None => name.into(),
        },
    }
}

/// Returns the two names of a line `diff --git a/x b/x`. Without quotes they can be told apart only if they are the same.
pub(super) fn of_git(text: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    if let Some((old, rest)) = unquote(text) {
        return Some((old.into(), name(rest.strip_prefix(' ')?)));
    }
    if let Some((old, _)) = text.split_once(" \"") {
        let quoted = text.get(old.len() + 1..)?;
        return Some((old.into(), unquote(quoted)?.0.into()));
    }
    if text.len() > LONGEST {
        return None;
    }
    let stripped = |name: &str| name.split_once('/').map(|(_, rest)| rest.to_owned());
    let mut halves = text.match_indices(' ').filter_map(|(at, _)| {
        let (old, new) = (text.get(..at)?, text.get(at + 1..)?);
        (old == new || stripped(old).is_some() && stripped(old) == stripped(new))
            .then_some((old, new))
    });
    let (old, new) = halves.next()?;
    Some((old.into(), new.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_quotes_times_and_prefixes() {
        for (text, expected) in [
            ("a/x", "a/x"),
            ("a/x y\t2026-01-01 00:00:00 +0000", "a/x y"),
            ("\"a/\\303\\244 \\\"q\\\"\\t\"", "a/ä \"q\"\t"),
            ("\"unclosed", "\"unclosed"),
            ("\"\\q\"", "\"\\q\""),
            ("x  ", "x"),
        ] {
            assert_eq!(name(text), expected, "{text}");
        }
        for (old, new, expected) in [
            ("a/x", "b/x", ("x", "x")),
            (NONE, "b/x", (NONE, "x")),
            ("a/x", NONE, ("x", NONE)),
            ("i/x", "w/x", ("x", "x")),
            ("a/x", "a/x", ("a/x", "a/x")),
            ("x.orig", "x", ("x.orig", "x")),
            (NONE, "x", (NONE, "x")),
        ] {
            let (one, other) = without_prefixes(old.into(), new.into());
            assert_eq!((&*one, &*other), expected);
        }
        for (text, expected) in [
            ("a/x b/x", Some(("a/x", "b/x"))),
            ("a/x y b/x y", Some(("a/x y", "b/x y"))),
            ("\"a/\\303\\244\" \"b/\\303\\244\"", Some(("a/ä", "b/ä"))),
            ("a/x \"b/\\303\\244\"", Some(("a/x", "b/ä"))),
            ("a/x b/y", None),
            ("", None),
        ] {
            let names = of_git(text);
            let names = names.as_ref().map(|(old, new)| (&**old, &**new));
            assert_eq!(names, expected, "{text}");
        }
    }
}
