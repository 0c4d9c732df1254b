//! Searches of files in memory.

use std::collections::BTreeMap;

use regex::Regex;

use crate::files::{
    Error, FileMatches, Filter, Found, FoundFile, Kind, LetterCase, Line, Matches, Page, Scope,
    Text,
};

/// Which files a search goes over.
pub(super) struct Selection<'s> {
    scope: &'s Scope,
    globs: Vec<(bool, Regex)>,
}

impl<'s> Selection<'s> {
    pub(super) fn new(scope: &'s Scope) -> Result<Self, Error> {
        let globs = scope.globs.iter().map(|glob| match glob.strip_prefix('!') {
            Some(without) => Ok((false, glob_pattern(without)?)),
            None => Ok((true, glob_pattern(glob)?)),
        });
        Ok(Self {
            scope,
            globs: globs.collect::<Result<_, Error>>()?,
        })
    }

    /// Returns whether a path below the base is among them.
    pub(super) fn takes(&self, path: &str) -> bool {
        let depth = path.split('/').count();
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        let is_hidden = path.split('/').any(|name| name.starts_with('.'));
        let has_type = self.scope.types.iter().any(|kind| {
            let end = path.rsplit_once('.').map(|(_, end)| end);
            end == Some(kind)
        });
        let wanted = || self.globs.iter().filter(|(is_wanted, _)| *is_wanted);
        let fits = |pattern: &Regex| pattern.is_match(path);
        self.scope.max_depth.is_none_or(|most| depth <= most)
            && (self.scope.hidden || !is_hidden)
            && (self.scope.types.is_empty() || has_type)
            && (wanted().count() == 0 || wanted().any(|(_, pattern)| fits(pattern)))
            && !self
                .globs
                .iter()
                .any(|(is_wanted, pattern)| !is_wanted && fits(pattern))
    }
}

fn compiled(pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern).map_err(|error| Error::Invalid(error.to_string()))
}

/// Returns the pattern of paths that fit a glob, or of which a directory fits.
fn glob_pattern(glob: &str) -> Result<Regex, Error> {
    let mut pattern = match glob.trim_end_matches('/').contains('/') {
        true => "^".to_owned(),
        false => "(^|/)".to_owned(),
    };
    let mut rest = glob.trim_matches('/');
    while let Some(next) = rest.chars().next() {
        let (part, length) = match next {
            '\\' => {
                let escaped = rest.chars().nth(1).map(String::from).unwrap_or_default();
                (regex::escape(&escaped), 1 + escaped.len())
            }
            '*' if rest.starts_with("**/") => ("(.*/)?".to_owned(), 3),
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            '{' => ("(".to_owned(), 1),
            '}' => (")".to_owned(), 1),
            ',' => ("|".to_owned(), 1),
            other => (regex::escape(&other.to_string()), other.len_utf8()),
        };
        pattern.push_str(&part);
        rest = rest.get(length..).unwrap_or_default();
    }
    compiled(&(pattern + "($|/)"))
}

fn text_pattern(text: &Text) -> Result<Regex, Error> {
    let mut pattern = match text.literal {
        true => regex::escape(&text.pattern),
        false => text.pattern.clone(),
    };
    if text.words {
        pattern = format!(r"\b(?:{pattern})\b");
    }
    let has_large = text.pattern.chars().any(char::is_uppercase);
    let is_any = match text.letter_case {
        LetterCase::Exact => false,
        LetterCase::Any => true,
        LetterCase::Smart => !has_large,
    };
    compiled(&format!("(?m{}){pattern}", if is_any { "i" } else { "" }))
}

/// Searches the files for a text, line by line. A binary file is searched only if it is named.
pub(super) fn text(
    files: &BTreeMap<String, Vec<u8>>,
    is_named: bool,
    text: &Text,
    page: Page,
) -> Result<Matches, Error> {
    let pattern = text_pattern(text)?;
    let mut found = Matches {
        files: Vec::new(),
        total_files: 0,
        total_matches: 0,
        searched: 0,
        unreadable: 0,
        more: false,
    };
    let mut at = 0;
    let is_on_page = |at: u64| at >= page.skip && at - page.skip < page.max;
    let is_searched = |content: &[u8]| is_named || !content.contains(&0);
    for (path, content) in files.iter().filter(|(_, content)| is_searched(content)) {
        found.searched += 1;
        let content = String::from_utf8_lossy(content);
        let lines: Vec<_> = content.lines().collect();
        let matching: Vec<_> = (0..lines.len())
            .filter(|index| lines.get(*index).is_some_and(|line| pattern.is_match(line)))
            .collect();
        if matching.is_empty() {
            continue;
        }
        found.total_files += 1;
        found.total_matches += matching.len() as u64;
        let mut shown = Vec::new();
        let mut is_listed = false;
        match text.files_only {
            true => {
                is_listed = is_on_page(at);
                at += 1;
            }
            false => {
                for index in &matching {
                    if is_on_page(at) {
                        is_listed = true;
                        let from = index.saturating_sub(text.before as usize);
                        shown.extend(from..=(index + text.after as usize).min(lines.len() - 1));
                    }
                    at += 1;
                }
            }
        }
        shown.sort_unstable();
        shown.dedup();
        let width = text.width as usize;
        let shown = shown.into_iter().filter_map(|index| {
            let line = lines.get(index)?;
            Some(Line {
                number: index as u64 + 1,
                text: line.chars().take(width).collect(),
                is_match: matching.contains(&index),
                is_cut: line.chars().count() > width,
            })
        });
        if is_listed {
            found.files.push(FileMatches {
                path: path.clone(),
                matches: matching.len() as u64,
                lines: shown.collect(),
            });
        }
    }
    found.more = at > page.skip.saturating_add(page.max);
    Ok(found)
}

/// Finds files. Each was changed at the same time.
pub(super) fn find(files: &BTreeMap<String, Vec<u8>>, filter: &Filter, page: Page) -> Found {
    const MODIFIED_MS: u64 = 1_000_000;
    let passes = |size: u64| {
        filter.kind.is_none_or(|kind| kind == Kind::File)
            && filter.min_size.is_none_or(|least| size >= least)
            && filter.max_size.is_none_or(|most| size <= most)
            && filter.since_ms.is_none_or(|since| MODIFIED_MS >= since)
            && filter.until_ms.is_none_or(|until| MODIFIED_MS < until)
    };
    let found: Vec<_> = files
        .iter()
        .filter(|(_, content)| passes(content.len() as u64))
        .map(|(path, content)| FoundFile {
            path: path.clone(),
            kind: Kind::File,
            size: content.len() as u64,
            modified_ms: MODIFIED_MS,
        })
        .collect();
    let total = found.len() as u64;
    let as_count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let rest = found.into_iter().skip(as_count(page.skip));
    Found {
        files: rest.take(as_count(page.max)).collect(),
        total,
        unreadable: 0,
        more: total > page.skip.saturating_add(page.max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::testing::FakeFiles;

    #[test]
    fn it_searches_as_the_host_does() {
        let files = FakeFiles::new()
            .with("a.rs", "one\nTwo\nthree")
            .with("sub/b.py", "two words\n")
            .with(".hidden/c.rs", "two")
            .with("binary", b"two\0");
        let page = Page { skip: 0, max: 9 };
        let lines = |scope: Scope, text: Text| {
            let found = files.search(&scope, &text, page).unwrap();
            let lines = found.files.iter().flat_map(|file| {
                let lines = file.lines.iter();
                lines.map(|line| format!("{}:{}:{}", file.path, line.number, line.text))
            });
            lines.collect::<Vec<_>>()
        };
        let pattern = |pattern: &str| Text {
            pattern: pattern.to_owned(),
            letter_case: LetterCase::Any,
            ..Text::default()
        };
        let globs = |globs: &[&str]| Scope {
            globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
            ..Scope::default()
        };
        assert_eq!(
            lines(Scope::default(), pattern("two")),
            ["a.rs:2:Two", "sub/b.py:1:two words"]
        );
        let near = Text {
            before: 1,
            ..pattern("^two$")
        };
        assert_eq!(lines(Scope::default(), near), ["a.rs:1:one", "a.rs:2:Two"]);
        assert_eq!(
            lines(globs(&["*.{py,md}"]), pattern("two")),
            ["sub/b.py:1:two words"]
        );
        assert_eq!(lines(globs(&["!sub"]), pattern("two")), ["a.rs:2:Two"]);
        assert_eq!(
            lines(globs(&["sub/**/b.*"]), pattern("t.o")),
            ["sub/b.py:1:two words"]
        );
        let found = files
            .find(&globs(&["**/*.py"]), &Filter::default(), page)
            .unwrap();
        assert_eq!((found.total, found.files[0].path.as_str()), (1, "sub/b.py"));
        assert!(
            files
                .search(&Scope::default(), &pattern("("), page)
                .is_err()
        );
    }
}
