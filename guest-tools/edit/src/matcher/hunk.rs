//! Hunks of a patch: lines that are found in a file one after the other, and replaced.

use super::change::Change;
use super::endings::dominant;
use super::lines::{Ending, Line, Lines};
use super::output::Output;
use super::seek::{Choice, find};
use super::splice::Splicer;
use super::{BOM, Edit, Reason, hint};

/// How many empty lines at the end of a hunk can be left out.
const MOST_EMPTY: usize = 4;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It is there, and stays.
    Context,
    /// It is there, and goes.
    Removed,
    /// It is new.
    Added,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HunkLine<'a> {
    pub(crate) sign: Sign,
    pub(crate) line: Line<'a>,
}

impl HunkLine<'_> {
    pub(super) fn is_context(&self) -> bool {
        self.sign == Sign::Context
    }
}

/// A stretch of lines with the changes in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk<'a> {
    /// Lines of the file, one after the other, behind which the hunk is.
    pub(crate) anchors: Vec<&'a str>,
    pub(crate) lines: Vec<HunkLine<'a>>,
    /// The number of its first line, counted from 1; of a hunk that only adds, the line before.
    pub(crate) number: Option<usize>,
    /// Whether it is at the end of the file.
    pub(crate) is_at_end: bool,
}

/// A file with its hunks applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    pub(crate) bytes: Vec<u8>,
    /// The hunks that fit several places, counted from 1: how many these are, and the line that was taken.
    pub(crate) ambiguous: Vec<(usize, usize, usize)>,
}

/// Why a hunk cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The line that an `@@` names is not there, or not behind the hunk before.
    Anchor(String, Option<String>),
    /// The lines are not there; what may be wrong with them.
    Lines(Option<String>),
    /// The lines are at this line only, counted from 1, which is before the end of the hunk before.
    Order(usize),
    /// The file would become too long.
    TooLong(Reason),
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anchor(line, hint) => {
                write!(
                    f,
                    "the line {line:?} behind @@ is not in the file, or not below the hunk before. Copy a whole line of the file, or leave it out"
                )?;
                hint.iter().try_for_each(|hint| write!(f, ". {hint}"))
            }
            Self::Lines(hint) => {
                f.write_str(
                    "the lines of the hunk are not in the file. Verify that those that begin with a blank or \"-\" match the file exactly, \
                     including whitespace and indentation",
                )?;
                hint.iter().try_for_each(|hint| write!(f, ". {hint}"))
            }
            Self::Order(line) => write!(
                f,
                "the lines of the hunk are at line {line} only, above the end of the hunk before. Put the hunks in the order of the file"
            ),
            Self::TooLong(reason) => reason.fmt(f),
        }
    }
}

/// A stretch of the file, and the hunk that replaces it.
#[derive(Debug)]
struct Place<'h, 'a> {
    start: usize,
    end: usize,
    lines: &'h [HunkLine<'a>],
}

/// Applies hunks to a file, each behind the one before.
///
/// # Errors
///
/// The index of the first hunk that does not fit, and why.
pub(crate) fn patch(content: &[u8], hunks: &[Hunk<'_>]) -> Result<Patched, (usize, Misfit)> {
    let (mark, text) = match content.strip_prefix(BOM) {
        Some(text) => (BOM, text),
        None => (&b""[..], content),
    };
    let mut seeker = Seeker {
        text,
        at: 0,
        line: 0,
        shift: 0,
    };
    let mut ambiguous = Vec::new();
    let mut places = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let (place, fits) = seeker.place(hunk).map_err(|misfit| (index, misfit))?;
        if fits > 1 && hunk.number.is_none() && hunk.anchors.is_empty() && !hunk.is_at_end {
            let before = text.get(..place.start).unwrap_or_default();
            ambiguous.push((index + 1, fits, Lines(before).count() + 1));
        }
        places.push(place);
    }
    // Lines that are added at the end of the file are behind all other hunks, whatever the order.
    places.sort_by_key(|place| place.start);
    let mut output = Output::new(content.len(), mark);
    let mut done = 0;
    for place in &places {
        let before = text.get(done..place.start).unwrap_or_default();
        let pushed = output
            .push(before)
            .and_then(|()| place.apply(text, &mut output));
        pushed.map_err(|reason| (0, Misfit::TooLong(reason)))?;
        done = place.end;
    }
    let rest = text.get(done..).unwrap_or_default();
    output
        .push(rest)
        .map_err(|reason| (0, Misfit::TooLong(reason)))?;
    Ok(Patched {
        bytes: output.into_bytes(),
        ambiguous,
    })
}

impl Place<'_, '_> {
    fn apply(&self, text: &[u8], output: &mut Output) -> Result<(), Reason> {
        let is_at_end = self.end == text.len();
        let mut lines = self.lines.to_vec();
        if !is_at_end {
            // Only the last line of a file can be without an end.
            for line in &mut lines {
                if line.line.ending == Ending::None {
                    line.line.ending = Ending::Lf;
                }
            }
        }
        let before = text.get(..self.start).unwrap_or_default();
        let adds = lines.iter().any(|line| line.sign == Sign::Added);
        if adds && self.start == self.end && !before.is_empty() && !before.ends_with(b"\n") {
            output.push(dominant(text).unwrap_or(Ending::Lf).bytes())?;
        }
        let change = Change::of_hunk(text, &lines);
        Splicer::new(text, &change).splice(self.start, self.end, output)
    }
}

/// A way through a file, from hunk to hunk.
#[derive(Debug)]
struct Seeker<'t> {
    text: &'t [u8],
    /// The end of the last hunk or anchor: how many bytes and lines are before it.
    at: usize,
    line: usize,
    /// By how many lines the last hunk was behind the place that its number names.
    shift: isize,
}

impl Seeker<'_> {
    /// Returns the place of a hunk, and how many places it fits, and goes behind it.
    fn place<'h, 'a>(&mut self, hunk: &'h Hunk<'a>) -> Result<(Place<'h, 'a>, usize), Misfit> {
        let mut before_anchor = (self.at, self.line);
        for anchor in &hunk.anchors {
            before_anchor = self.go_behind(anchor)?;
        }
        if hunk.lines.iter().all(|line| line.sign == Sign::Added) {
            let at = self.insertion(hunk);
            let place = Place {
                start: at,
                end: at,
                lines: &hunk.lines,
            };
            return Ok((place, 1));
        }
        let mut found = self.find(hunk, &hunk.lines);
        if found.is_none() && !hunk.anchors.is_empty() {
            // The line that `@@` names can be the first one of the hunk as well.
            (self.at, self.line) = before_anchor;
            found = self.find(hunk, &hunk.lines);
        }
        let (lines, start, end, first, fits) = found.ok_or_else(|| self.misfit(hunk))?;
        if let Some(number) = hunk.number {
            self.shift = first.cast_signed() - number.saturating_sub(1).cast_signed();
        }
        let old = lines.iter().filter(|line| line.sign != Sign::Added).count();
        (self.at, self.line) = (end, first + old);
        Ok((Place { start, end, lines }, fits))
    }

    /// Goes behind the line that an `@@` names. Returns where that line begins.
    fn go_behind(&mut self, anchor: &str) -> Result<(usize, usize), Misfit> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(found) = find(rest, &[anchor.as_bytes()], Choice::default()) else {
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
        self.at += bytes_of(rest, found.line + 1);
        self.line = line + 1;
        Ok((start, line))
    }

    /// Returns where lines are inserted that have no others around them.
    fn insertion(&self, hunk: &Hunk<'_>) -> usize {
        match hunk.number {
            _ if hunk.is_at_end => self.text.len(),
            Some(number) => {
                let line = number.saturating_add_signed(self.shift);
                bytes_of(self.text, line).max(self.at)
            }
            None if !hunk.anchors.is_empty() => self.at,
            // The original adds them at the end, or before an empty last line.
            None => match Lines(self.text).next_back() {
                Some(last) if last.text.is_empty() => (self.text.len() - last.len()).max(self.at),
                _ => self.text.len(),
            },
        }
    }

    /// Finds the lines that a hunk needs. If they are not there, does without the empty lines at its end, which are often only the space to
    /// the next hunk.
    fn find<'h, 'a>(
        &self,
        hunk: &Hunk<'_>,
        lines: &'h [HunkLine<'a>],
    ) -> Option<(&'h [HunkLine<'a>], usize, usize, usize, usize)> {
        let rest = self.text.get(self.at..)?;
        let near = hunk.number.map(|number| {
            let line = number.saturating_sub(1).saturating_add_signed(self.shift);
            line.saturating_sub(self.line)
        });
        let choice = Choice {
            at_end: hunk.is_at_end,
            near,
        };
        let mut lines = lines;
        for _ in 0..=MOST_EMPTY {
            let old = lines.iter().filter(|line| line.sign != Sign::Added);
            let wanted: Vec<_> = old.map(|line| line.line.text).collect();
            if wanted.is_empty() {
                return None;
            }
            if let Some(found) = find(rest, &wanted, choice) {
                let start = self.at + bytes_of(rest, found.line);
                let end = self.at + bytes_of(rest, found.line + wanted.len());
                return Some((lines, start, end, self.line + found.line, found.places));
            }
            match lines.split_last() {
                Some((last, before)) if last.is_context() && last.line.text.is_empty() => {
                    lines = before;
                }
                _ => return None,
            }
        }
        None
    }

    /// Says what may be wrong with a hunk whose lines are not there.
    fn misfit(&self, hunk: &Hunk<'_>) -> Misfit {
        let start = Self {
            at: 0,
            line: 0,
            ..*self
        };
        if let Some((.., line, _)) = start.find(hunk, &hunk.lines) {
            return Misfit::Order(line + 1);
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
