//! The way through a file, from hunk to hunk.

use super::hunk::{Hunk, HunkLine, Sign};
use super::lines::{Line, Lines};
use super::misfit::Misfit;
use super::seek::{Choice, Work, find};
use super::{Edit, hint};

/// A stretch of the file, and the lines that replace it.
#[derive(Debug)]
pub(super) struct Place<'h, 'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lines: &'h [HunkLine<'a>],
    /// Its first line, counted from 0.
    pub(super) line: usize,
    /// How many places the hunk fits, as far as that matters.
    pub(super) fits: usize,
    /// Whether lines are added at the end of the file, behind all other hunks.
    pub(super) is_append: bool,
}

/// A way through a file, from hunk to hunk.
#[derive(Debug)]
pub(super) struct Seeker<'t> {
    text: &'t [u8],
    /// The end of the last hunk or anchor: how many bytes and lines are before it.
    at: usize,
    line: usize,
    /// By how many lines the last hunk was behind the place that its number names.
    shift: isize,
    work: Work,
}

impl<'t> Seeker<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            line: 0,
            shift: 0,
            work: Work::default(),
        }
    }

    /// Returns the place of a hunk, and goes behind it.
    pub(super) fn place<'h, 'a>(&mut self, hunk: &'h Hunk<'a>) -> Result<Place<'h, 'a>, Misfit> {
        let mut before_anchor = (self.at, self.line);
        for anchor in &hunk.anchors {
            before_anchor = self.go_behind(anchor)?;
        }
        if hunk.lines.iter().all(|line| line.sign == Sign::Added) {
            return self.insertion(hunk);
        }
        let mut place = self.find(hunk);
        if place.is_none() && !hunk.anchors.is_empty() {
            // The line that `@@` names can be the first one of the hunk as well.
            (self.at, self.line) = before_anchor;
            place = self.find(hunk);
        }
        let Some(place) = place else {
            return Err(self.misfit(hunk));
        };
        if let Some(number) = hunk.number {
            self.shift = place.line.cast_signed() - number.saturating_sub(1).cast_signed();
        }
        let old = place.lines.iter().filter(|line| line.sign != Sign::Added);
        (self.at, self.line) = (place.end, place.line + old.count());
        Ok(place)
    }

    /// Goes behind the line that an `@@` names. Returns where that line begins.
    fn go_behind(&mut self, anchor: &str) -> Result<(usize, usize), Misfit> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let wanted = [anchor.as_bytes()];
        let Some(found) = find(rest, &wanted, Choice::default(), &mut self.work) else {
            if self.work.is_too_much() {
                return Err(Misfit::TooMuch);
            }
            let edit = Edit {
                search: anchor,
                replace: "",
                replace_all: false,
            };
            let hint = of_hunk(hint::hint(self.text, &edit, false));
            return Err(Misfit::Anchor(anchor.to_owned(), hint));
        };
        let start = self.at + bytes_of(rest, found.line);
        let line = self.line + found.line;
        let behind = self.text.get(start..).unwrap_or_default();
        self.at = start + bytes_of(behind, 1);
        self.line = line + 1;
        Ok((start, line))
    }

    /// Returns where lines are inserted that have no others around them. Goes there if they are not added at the end.
    fn insertion<'h, 'a>(&mut self, hunk: &'h Hunk<'a>) -> Result<Place<'h, 'a>, Misfit> {
        let end = self.text.len();
        let (at, is_append) = match hunk.number {
            _ if hunk.is_at_end => (end, true),
            Some(number) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let line = number.saturating_add_signed(self.shift);
                if line < self.line && hunk.anchors.is_empty() {
                    return Err(Misfit::Order(line));
                }
                let lines = line.saturating_sub(self.line);
                let at = self.at + bytes_of(rest, lines);
                if at < end {
                    (self.at, self.line) = (at, self.line + lines);
                }
                (at, at == end)
            }
            None if !hunk.anchors.is_empty() => (self.at, false),
            // The original adds them at the end, or before an empty last line.
            None => match Lines(self.text).next_back() {
                Some(last) if last.text.is_empty() => (end - last.len(), true),
                _ => (end, true),
            },
        };
        Ok(Place {
            start: at,
            end: at,
            lines: &hunk.lines,
            line: self.line,
            fits: 1,
            is_append,
        })
    }

    /// Finds the lines that a hunk needs. If they are not there, does without the empty lines at its end, which are often only the space to
    /// the next hunk.
    fn find<'h, 'a>(&mut self, hunk: &'h Hunk<'a>) -> Option<Place<'h, 'a>> {
        let rest = self.text.get(self.at..)?;
        let near = hunk.number.map(|number| {
            let line = number.saturating_sub(1).saturating_add_signed(self.shift);
            line.saturating_sub(self.line)
        });
        let choice = Choice {
            at_end: hunk.is_at_end,
            near,
            // Of the places of all others, the hunk itself says which one is meant.
            counts: near.is_none() && hunk.anchors.is_empty() && !hunk.is_at_end,
        };
        let is_empty = |line: &HunkLine<'_>| line.is_context() && line.line.text.is_empty();
        let empty = hunk.lines.iter().rev().take_while(|line| is_empty(line));
        let without = hunk.lines.get(..hunk.lines.len() - empty.count());
        for lines in [Some(hunk.lines.as_slice()), without].into_iter().flatten() {
            let old = lines.iter().filter(|line| line.sign != Sign::Added);
            let wanted: Vec<_> = old.map(|line| line.line.text).collect();
            if wanted.is_empty() {
                return None;
            }
            if let Some(found) = find(rest, &wanted, choice, &mut self.work) {
                let start = self.at + bytes_of(rest, found.line);
                let behind = self.text.get(start..).unwrap_or_default();
                return Some(Place {
                    start,
                    end: start + bytes_of(behind, wanted.len()),
                    lines,
                    line: self.line + found.line,
                    fits: found.places,
                    is_append: false,
                });
            }
            if lines.len() == without.map_or(0, <[_]>::len) {
                return None;
            }
        }
        None
    }

    /// Says what may be wrong with a hunk whose lines are not there.
    fn misfit(&self, hunk: &Hunk<'_>) -> Misfit {
        if self.work.is_too_much() {
            return Misfit::TooMuch;
        }
        if let Some(place) = Self::new(self.text).find(hunk) {
            return Misfit::Order(place.line + 1);
        }
        let text = |skipped: Sign| {
            let lines = hunk.lines.iter().filter(|line| line.sign != skipped);
            let lines: Vec<_> = lines.map(|line| line.line.text).collect();
            String::from_utf8_lossy(&lines.join(&b'\n')).into_owned()
        };
        let edit = Edit {
            search: &text(Sign::Added),
            replace: &text(Sign::Removed),
            replace_all: false,
        };
        Misfit::Lines(of_hunk(hint::hint(self.text, &edit, false)))
    }
}

/// Returns how many bytes so many lines have.
fn bytes_of(text: &[u8], lines: usize) -> usize {
    Lines(text).take(lines).map(Line::len).sum()
}

/// Says what a hint says of a search string of a hunk.
fn of_hunk(hint: Option<String>) -> Option<String> {
    hint.map(|hint| {
        hint.replace("our search string", "our hunk").replace(
            "Did you swap \"search\" and \"replace\"? Your replace string appears",
            "Is the hunk applied already, or are \"-\" and \"+\" swapped? What it leaves appears",
        )
    })
}
