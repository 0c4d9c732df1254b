//! The lines of a page: those that match, and those around them.

use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use toolhost_workspace::files::{Line, MAX_WIDTH};

/// What is left of a page.
#[derive(Debug)]
pub(super) struct Rest {
    /// How many results are left out first.
    pub(super) skip: u64,
    /// How many results follow.
    pub(super) max: u64,
    /// How many bytes of lines.
    pub(super) bytes: usize,
}

impl Rest {
    pub(super) fn is_over(&self) -> bool {
        self.max == 0 || self.bytes == 0
    }
}

/// Takes lines of a file until the page is full.
pub(super) struct Lines<'l> {
    matcher: &'l RegexMatcher,
    width: usize,
    rest: &'l mut Rest,
    lines: &'l mut Vec<Line>,
}

impl<'l> Lines<'l> {
    pub(super) fn new(
        matcher: &'l RegexMatcher,
        width: usize,
        rest: &'l mut Rest,
        lines: &'l mut Vec<Line>,
    ) -> Self {
        Self {
            matcher,
            width: width.clamp(1, MAX_WIDTH),
            rest,
            lines,
        }
    }

    fn push(&mut self, number: u64, line: &[u8], is_match: bool) {
        let line = without_end(line);
        let shown = match line.len() > self.width {
            true => self.around_match(line),
            false => line,
        };
        let text = String::from_utf8_lossy(shown).into_owned();
        self.rest.bytes = self.rest.bytes.saturating_sub(text.len());
        self.lines.push(Line {
            number,
            text,
            is_match,
            is_cut: shown.len() < line.len(),
        });
    }

    /// Returns the part of a line around its first match, which begins and ends between characters.
    fn around_match<'b>(&self, line: &'b [u8]) -> &'b [u8] {
        let found = self.matcher.find(line).ok().flatten();
        let at = found.map_or(0, |found| found.start());
        let begin = at.saturating_sub(self.width / 4);
        let begin = begin.min(line.len().saturating_sub(self.width));
        let is_inside = |byte: u8| byte & 0xc0 == 0x80;
        let inside = |from: usize| {
            let bytes = line.get(from..).unwrap_or_default().iter();
            bytes.take_while(|byte| is_inside(**byte)).take(3).count()
        };
        let begin = begin + inside(begin);
        let mut end = (begin + self.width).min(line.len());
        while end > begin && line.get(end).is_some_and(|byte| is_inside(*byte)) {
            end -= 1;
        }
        line.get(begin..end).unwrap_or_default()
    }
}

impl Sink for &mut Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            if self.rest.skip > 0 {
                self.rest.skip -= 1;
                continue;
            }
            if self.rest.is_over() {
                return Ok(false);
            }
            self.rest.max -= 1;
            self.push(number, line, true);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        // Lines around matches of other pages are left out.
        let is_of_page = match found.kind() {
            SinkContextKind::After => !self.lines.is_empty(),
            _ => self.rest.skip == 0 && !self.rest.is_over(),
        };
        if is_of_page && self.rest.bytes > 0 {
            let number = found.line_number().unwrap_or_default();
            self.push(number, found.bytes(), false);
        }
        Ok(true)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
