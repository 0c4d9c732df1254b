//! The problems of a configuration file: each with its line, its key, and its remedy.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toolhost_view::hidden;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where it is; `None`: nowhere in the file.
    #[serde(flatten)]
    pub place: Option<Position>,
    /// The key, such as `plugins.weather.limits.memory`; empty if it is about the whole file.
    pub key: String,
    /// The problem and its remedy.
    pub text: String,
}

/// A line and a column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.place {
            write!(formatter, "line {line}, column {column}: ")?;
        }
        // A key can be any text; it must neither act on a terminal nor look like another line.
        for c in self.key.chars() {
            match c.is_control() || hidden::is_hidden(None, c, None) {
                true => write!(formatter, "{}", c.escape_unicode())?,
                false => write!(formatter, "{c}")?,
            }
        }
        if !self.key.is_empty() {
            formatter.write_str(": ")?;
        }
        formatter.write_str(&self.text)
    }
}

/// The most problems that are listed.
pub(crate) const MOST: usize = 100;

/// Formats problems in the order of the file. A single problem continues the sentence before it; several have a line each.
pub(super) struct Listed<'a>(pub(super) &'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.0 {
            return write!(formatter, ": {problem}");
        }
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by_key(|problem| problem.place);
        write!(formatter, ", for {} reasons:", sorted.len())?;
        for problem in sorted.iter().take(MOST) {
            write!(formatter, "\n  {problem}")?;
        }
        match sorted.len().saturating_sub(MOST) {
            0 => Ok(()),
            more => write!(formatter, "\n  and {more} more"),
        }
    }
}

/// Where each key of a file is, by its path: `plugins.weather.limits.memory`, `listen[1]`.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions(BTreeMap<String, Position>);

impl Positions {
    /// Finds the positions of all keys in a file. The position of a key is that of its name; an element of a list is where it
    /// begins.
    pub(super) fn of(text: &str, table: &DeTable<'_>) -> Self {
        let mut places = Self::default();
        places.add_table(&Lines::of(text), "", table);
        places
    }

    fn add_table(&mut self, lines: &Lines<'_>, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = below(path, key.get_ref());
            self.0.insert(path.clone(), lines.place(key.span().start));
            self.add_value(lines, &path, value);
        }
    }

    fn add_value(&mut self, lines: &Lines<'_>, path: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(lines, path, table),
            DeValue::Array(array) => {
                for (index, value) in array.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    self.0.insert(path.clone(), lines.place(value.span().start));
                    self.add_value(lines, &path, value);
                }
            }
            _ => {}
        }
    }

    /// Makes a problem of a key. If the key is not in the file, the problem gets the position of its section.
    pub(super) fn problem(&self, key: impl Into<String>, text: impl Into<String>) -> Problem {
        let key = key.into();
        let mut parts = Some(key.as_str());
        let mut place = None;
        while let Some(path) = parts {
            place = self.0.get(path).copied();
            if place.is_some() {
                break;
            }
            parts = path.rfind(['.', '[']).and_then(|end| path.get(..end));
        }
        Problem {
            place,
            text: text.into(),
            key,
        }
    }
}

/// Returns the path of a key in a section; the outermost section has no name.
pub(super) fn below(section: &str, key: &str) -> String {
    match section {
        "" => key.to_owned(),
        section => format!("{section}.{key}"),
    }
}

/// A text with the offsets at which its lines begin.
pub(super) struct Lines<'t> {
    text: &'t str,
    begins: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(end, _)| end + 1);
        Self {
            text,
            begins: [0].into_iter().chain(ends).collect(),
        }
    }

    pub(super) fn place(&self, offset: usize) -> Position {
        let line = self.begins.partition_point(|begin| *begin <= offset);
        let begin = line.checked_sub(1).and_then(|line| self.begins.get(line));
        let before = self.text.get(begin.copied().unwrap_or_default()..offset);
        Position {
            line,
            column: before.unwrap_or_default().chars().count() + 1,
        }
    }
}

/// Returns the known name that an unknown name was probably meant to be.
pub fn meant<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// The least similarity of two names, from 0 to 1.
    const ALIKE: f64 = 0.8;
    let likeness = |name: &'a str| (strsim::jaro_winkler(unknown, name), name);
    let alike = known.into_iter().map(likeness);
    let best = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= ALIKE).then_some(best.1)
}

/// Returns the text for an unknown name, with the name that was probably meant, or else all known names.
pub fn unknown(name: &str, kind: &str, known: &[&str]) -> String {
    match meant(name, known.iter().copied()) {
        Some(meant) => format!("there is no such {kind}; did you mean {meant:?}?"),
        None => format!("there is no such {kind}; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(key: &str) -> Problem {
        Positions::default().problem(key, "text")
    }

    #[test]
    fn keys_act_on_no_terminal_and_forge_no_line() {
        let shown = problem("a\nforged\u{1b}[2J\u{202e}\u{9b}ä").to_string();
        assert_eq!(shown, "a\\u{a}forged\\u{1b}[2J\\u{202e}\\u{9b}ä: text");
    }

    #[test]
    fn a_list_is_bounded() {
        let problems = vec![problem("key"); MOST + 7];
        let listed = Listed(&problems).to_string();
        assert_eq!(listed.lines().count(), 1 + MOST + 1);
        assert!(listed.starts_with(", for 107 reasons:\n  key: text\n"));
        assert!(listed.ends_with("\n  and 7 more"));
    }
}
