//! Searching files for a text.
//!
//! The first pass counts the lines that match in every file, with several threads. The second one reads the lines of the files that are on
//! the page.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Encoding, MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch,
};
use parking_lot::Mutex;
use toolhost_workspace::files::{
    FileMatches, LetterCase, MAX_CONTEXT, MAX_FOUND, Matches, Page, Scope, Text,
};

use super::end_of;
use super::kept::Kept;
use super::lines::{Lines, Rest};
use super::tree::{Tree, Visited, Visitor};
use crate::files::{Error, Files, Kind, Work};

/// The most bytes of a pattern, and of what it is compiled to.
const MAX_PATTERN: usize = 32 << 10;
const MAX_COMPILED: usize = 16 << 20;

/// The most bytes of a file that one thread has in memory: of one line, or of all if a match can have several.
const MAX_HELD: usize = 16 << 20;

struct Counter<'t, 'f> {
    tree: &'t Tree<'f>,
    matcher: &'t RegexMatcher,
    searcher: Searcher,
    /// Searches files with zero bytes to their end.
    to_the_end: Searcher,
    counts: &'t Counts,
    /// Whether each file is one result, and not each line.
    files_only: bool,
}

/// A file that matches.
struct Counted {
    path: PathBuf,
    /// How many of its lines match.
    matches: u64,
    /// Whether the file has zero bytes.
    is_binary: bool,
}

struct Counts {
    /// The files by the paths that are shown.
    kept: Mutex<Kept<PathBuf, Counted>>,
    files: AtomicU64,
    matches: AtomicU64,
    searched: AtomicU64,
}

impl Files {
    /// Returns a page of the lines or files that match.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn search(
        &self,
        scope: &Scope,
        text: &Text,
        page: Page,
        work: &Work,
    ) -> Result<Matches, Error> {
        let end = end_of(page)?;
        let matcher = matcher(text)?;
        let mut searcher = searcher(text)?;
        let tree = self.tree(scope)?;
        if tree.is_file() {
            // A file that is named is text, because the caller says so.
            searcher = as_text(&searcher);
        }
        let counts = Counts {
            kept: Mutex::new(Kept::new(end)),
            files: AtomicU64::new(0),
            matches: AtomicU64::new(0),
            searched: AtomicU64::new(0),
        };
        tree.visit(work, || Counter {
            tree: &tree,
            matcher: &matcher,
            searcher: searcher.clone().line_number(false).build(),
            to_the_end: as_text(&searcher).line_number(false).build(),
            counts: &counts,
            files_only: text.files_only,
        })?;
        let mut found = Matches {
            files: Vec::new(),
            total_files: counts.files.into_inner(),
            total_matches: counts.matches.into_inner(),
            searched: counts.searched.into_inner(),
            unreadable: tree.unreadable(),
            more: false,
        };
        let total = match text.files_only {
            true => found.total_files,
            false => found.total_matches,
        };
        let mut rest = Rest {
            skip: page.skip,
            max: page.max,
            bytes: MAX_FOUND,
        };
        let mut lines = lines_searcher(&searcher, text);
        let mut lines_to_the_end = lines_searcher(&as_text(&searcher), text);
        for (shown, counted, results) in counts.kept.into_inner().into_items() {
            if rest.skip >= results {
                rest.skip -= results;
                continue;
            }
            if rest.is_over() {
                break;
            }
            let mut file = FileMatches {
                path: shown,
                matches: counted.matches,
                lines: Vec::new(),
            };
            match text.files_only {
                true => rest.max -= 1,
                false => {
                    let mut sink = Lines::new(&matcher, text.width, &mut rest, &mut file.lines);
                    let lines = match counted.is_binary {
                        true => &mut lines_to_the_end,
                        false => &mut lines,
                    };
                    // Since the first pass, it can have been removed.
                    if let Ok(opened) = self.open_file(&counted.path.to_string_lossy()) {
                        let read = Checked { file: opened, work };
                        _ = lines.search_reader(&matcher, read, &mut sink);
                    }
                    work.check()?;
                }
            }
            found.files.push(file);
        }
        found.more = total > page.skip.saturating_add(page.max - rest.max);
        Ok(found)
    }
}

impl Visitor for Counter<'_, '_> {
    fn visit(&mut self, entry: Visited<'_>, work: &Work) -> Result<(), Error> {
        if entry.kind != Kind::File {
            return Ok(());
        }
        // The path of a result is a text.
        if entry.path.to_str().is_none() {
            return self.tree.note(Error::Invalid("the name is no text".into()));
        }
        let mut counted = self.count(&entry, false, work);
        // A match before the first zero byte shows that the file has text.
        if let Ok(Count {
            matches: 1..,
            is_binary: true,
        }) = counted
        {
            counted = self.count(&entry, true, work);
        }
        work.check()?;
        let Count {
            matches: found,
            is_binary,
        } = match counted {
            Ok(count) => count,
            Err(error) => return self.tree.note(error),
        };
        let Counts {
            kept,
            files,
            matches,
            searched,
        } = self.counts;
        if found > 0 || !is_binary {
            searched.fetch_add(1, Ordering::Relaxed);
        }
        if found > 0 {
            files.fetch_add(1, Ordering::Relaxed);
            matches.fetch_add(found, Ordering::Relaxed);
            let shown = self.tree.files().shown(&entry.path);
            let results = if self.files_only { 1 } else { found };
            let counted = Counted {
                path: entry.path,
                matches: found,
                is_binary,
            };
            kept.lock().add(shown, counted, results);
        }
        Ok(())
    }
}

impl Counter<'_, '_> {
    /// Counts the lines of a file that match: up to the first zero byte, or up to the end.
    fn count(
        &mut self,
        entry: &Visited<'_>,
        to_the_end: bool,
        work: &Work,
    ) -> Result<Count, Error> {
        let file = entry.open(self.tree.files())?;
        let mut count = Count {
            matches: 0,
            is_binary: to_the_end,
        };
        let searcher = match to_the_end {
            true => &mut self.to_the_end,
            false => &mut self.searcher,
        };
        searcher.search_reader(self.matcher, Checked { file, work }, &mut count)?;
        Ok(count)
    }
}

/// The lines of a file that match.
struct Count {
    matches: u64,
    /// Whether the file has a zero byte.
    is_binary: bool,
}

impl Sink for &mut Count {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += found.lines().count() as u64;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// A file that is read until its search should end.
struct Checked<'w> {
    file: File,
    work: &'w Work,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stopped = |error: Error| io::Error::other(error.to_string());
        self.work.check().map_err(stopped)?;
        self.file.read(buffer)
    }
}

fn matcher(text: &Text) -> Result<RegexMatcher, Error> {
    if text.pattern.is_empty() {
        return Err(Error::Invalid("the pattern is empty".into()));
    }
    if text.pattern.len() > MAX_PATTERN {
        let text = format!("the pattern has more than {MAX_PATTERN} bytes");
        return Err(Error::Invalid(text));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .fixed_strings(text.literal)
        .word(text.words)
        .case_insensitive(text.letter_case == LetterCase::Any)
        .case_smart(text.letter_case == LetterCase::Smart)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED);
    match text.multiline {
        true => builder.crlf(true).line_terminator(None),
        false => builder.line_terminator(Some(b'\n')).crlf(true),
    };
    let built = builder.build(&text.pattern);
    built.map_err(|error| Error::Invalid(error.to_string()))
}

fn searcher(text: &Text) -> Result<SearcherBuilder, Error> {
    let encoding = text.encoding.as_deref().map(Encoding::new).transpose();
    let mut builder = SearcherBuilder::new();
    builder
        .memory_map(MmapChoice::never())
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(b'\0'))
        .heap_limit(Some(MAX_HELD))
        .encoding(encoding.map_err(|error| Error::Invalid(error.to_string()))?)
        .multi_line(text.multiline);
    Ok(builder)
}

/// Makes a searcher that goes on at zero bytes.
fn as_text(searcher: &SearcherBuilder) -> SearcherBuilder {
    let mut searcher = searcher.clone();
    searcher.binary_detection(BinaryDetection::none());
    searcher
}

/// Makes the searcher of the second pass.
fn lines_searcher(searcher: &SearcherBuilder, text: &Text) -> Searcher {
    searcher
        .clone()
        .line_number(true)
        .before_context(text.before.min(MAX_CONTEXT))
        .after_context(text.after.min(MAX_CONTEXT))
        .build()
}
