//! The second and third pass: whole lines that are those of the search string but for the white space around them.

use memchr::memmem;

use super::lines::{Lines, trim, trim_blanks_at_end};
use super::pattern::Pattern;

/// What of a line is compared.
type Trim = fn(&[u8]) -> &[u8];

/// The stretches of a text that a search string matches. There is at least one.
#[derive(Debug)]
pub(super) struct Windows<'a> {
    text: &'a [u8],
    pattern: Pattern<&'a [u8]>,
    trim: Trim,
}

/// The end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    /// How many lines there are up to there.
    lines: usize,
    /// How many bytes.
    bytes: usize,
}

/// Returns where a search string matches in the second pass or, if it does nowhere, in the third.
pub(super) fn find<'a>(text: &'a [u8], search: &'a [u8]) -> Option<Windows<'a>> {
    // What matches in the second pass matches in the third. So that is looked at only if it would make a difference.
    let loose = Windows::new(text, search, trim)?;
    if loose.ends().nth(1).is_none() {
        return Some(loose);
    }
    Windows::new(text, search, trim_blanks_at_end).or(Some(loose))
}

impl<'a> Windows<'a> {
    fn new(text: &'a [u8], search: &'a [u8], trim: Trim) -> Option<Self> {
        let windows = Self {
            text,
            pattern: Pattern::new(Lines(search).map(|line| trim(line.text))),
            trim,
        };
        // The longest line has to be there. And if all are blank, there is nothing to tell lines by.
        let longest = windows.pattern.longest();
        if longest.is_empty() || memmem::find(text, longest).is_none() {
            return None;
        }
        let is_found = windows.ends().next().is_some();
        is_found.then_some(windows)
    }

    /// Returns how many there are, counting those that overlap: of two places that share lines, neither is the one that was
    /// meant for sure.
    pub(super) fn count(&self) -> usize {
        self.ends().count()
    }

    /// Returns the numbers of their first lines, counted from 1.
    pub(super) fn first_lines(&self) -> impl Iterator<Item = usize> {
        self.ends().map(|end| end.lines + 1 - self.pattern.len())
    }

    /// Returns where those begin and end that do not overlap, the first one first.
    pub(super) fn disjoint(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut free = 0;
        let ends = self.ends().filter(move |end| {
            let is_free = end.lines - self.pattern.len() >= free;
            if is_free {
                free = end.lines;
            }
            is_free
        });
        ends.map(|end| {
            let (before, _) = self.text.split_at(end.bytes);
            let lines = Lines(before).rev().take(self.pattern.len());
            (
                end.bytes - lines.map(|line| line.len()).sum::<usize>(),
                end.bytes,
            )
        })
    }

    fn ends(&self) -> impl Iterator<Item = End> {
        let (mut matched, mut end) = (0, End { lines: 0, bytes: 0 });
        Lines(self.text).filter_map(move |line| {
            end.lines += 1;
            end.bytes += line.len();
            matched = self.pattern.step(matched, (self.trim)(line.text));
            (matched == self.pattern.len()).then_some(end)
        })
    }
}
