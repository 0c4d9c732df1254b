//! The three forms of a query: words, names, and a regular expression.

use regex_lite::{Regex, RegexBuilder};

/// The maximum length of a query in bytes.
const LONGEST: usize = 4 << 10;

/// The maximum length of a regular expression in bytes, and of its program.
const LONGEST_PATTERN: usize = 1 << 10;
const PROGRAM: usize = 256 << 10;

/// A query.
#[derive(Debug)]
pub(crate) enum Query<'a> {
    /// Words that say what the tool should do.
    Words(&'a str),
    /// Names of tools, each once, in their order.
    Names(Vec<&'a str>),
    /// A regular expression, which ignores case.
    Pattern(Regex),
}

impl<'a> Query<'a> {
    /// Reads a query.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(format!(
                "query has {} bytes, and at most {LONGEST} are allowed: give a few words that say what the tool should do",
                text.len()
            ));
        }
        if let Some(names) = text.strip_prefix("select:") {
            return Self::names(names);
        }
        let pattern = text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        if let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) {
            return Self::pattern(pattern);
        }
        match text.chars().any(char::is_alphanumeric) {
            true => Ok(Self::Words(text)),
            false => Err("query has no word: say what the tool should do, or name tools with \"select:NAME,NAME\"".to_owned()),
        }
    }

    fn names(names: &'a str) -> Result<Self, String> {
        let mut all = Vec::new();
        for name in names.split(|c: char| c == ',' || c.is_whitespace()) {
            if !name.is_empty() && !all.contains(&name) {
                all.push(name);
            }
        }
        match all.is_empty() {
            true => Err("query names no tool: write \"select:NAME,NAME\"".to_owned()),
            false => Ok(Self::Names(all)),
        }
    }

    fn pattern(pattern: &str) -> Result<Self, String> {
        if pattern.len() > LONGEST_PATTERN {
            return Err(format!(
                "the regular expression has {} bytes, and at most {LONGEST_PATTERN} are allowed: shorten it, or use words",
                pattern.len()
            ));
        }
        let built = RegexBuilder::new(pattern)
            .case_insensitive(true)
            .size_limit(PROGRAM)
            .build();
        built.map(Self::Pattern).map_err(|error| {
            format!("query is not a valid regular expression: {error}; use words instead")
        })
    }
}
