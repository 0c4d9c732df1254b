//! Where the lines of a hunk are in a file.
//!
//! The passes are those of `edit_files` and one more, for hunks whose author wrote plain punctuation: lines as they are, without blanks and
//! tabs at their ends, without white space on both sides, and with plain dashes, quotes and blanks in the place of others. The first pass
//! that finds the lines decides.

use std::borrow::Cow;

use super::lines::{Line, Lines, trim, trim_blanks_at_end};
use super::pattern::Pattern;

/// What of a line is compared.
type Trim = fn(&[u8]) -> &[u8];

/// How many bytes are gone over for all hunks of a file, and how many of them only to count the places.
const MOST: (usize, usize) = (1 << 30, 1 << 26);

/// How many bytes are searched for one line in the time that comparing the lines of one byte takes.
const FASTER: usize = 8;

/// How much work is left, so that many hunks of a large file do not take long.
#[derive(Debug)]
pub(super) struct Work {
    finding: usize,
    counting: usize,
}

impl Default for Work {
    fn default() -> Self {
        let (finding, counting) = MOST;
        Self { finding, counting }
    }
}

impl Work {
    /// Returns whether nothing is left, so that what was not found may be there.
    pub(super) fn is_too_much(&self) -> bool {
        self.finding == 0
    }
}

/// Takes work away. Returns whether enough was left.
fn take(left: &mut usize, bytes: usize) -> bool {
    *left = left.saturating_sub(bytes);
    *left > 0
}

/// Which of several places is taken. By default, it is the first one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    /// Whether the end of the file comes first, if the lines are there.
    pub(super) at_end: bool,
    /// The line, counted from 0, to which the place is the nearest.
    pub(super) near: Option<usize>,
    /// Whether all places are counted.
    pub(super) counts: bool,
}

/// Where lines were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The first line, counted from 0.
    pub(super) line: usize,
    /// At how many places they are, as far as these were counted; at least 1.
    pub(super) places: usize,
}

/// Finds lines in a text. There is at least one of them. If the work is too much, finds nothing.
pub(super) fn find(
    text: &[u8],
    wanted: &[&[u8]],
    choice: Choice,
    work: &mut Work,
) -> Option<Found> {
    if choice.at_end
        && let Some(found) = at_end(text, wanted, work)
    {
        return Some(found);
    }
    passes(text, wanted, choice, work)
}

/// Finds lines at the end of a text.
fn at_end(text: &[u8], wanted: &[&[u8]], work: &mut Work) -> Option<Found> {
    let lines: usize = Lines(text).rev().take(wanted.len()).map(Line::len).sum();
    let (before, end) = text.split_at(text.len() - lines);
    passes(end, wanted, Choice::default(), work)?;
    take(&mut work.finding, before.len() / FASTER).then(|| Found {
        line: memchr::memchr_iter(b'\n', before).count(),
        places: 1,
    })
}

/// Tries pass by pass to find lines, until one does.
fn passes(text: &[u8], wanted: &[&[u8]], choice: Choice, work: &mut Work) -> Option<Found> {
    let as_is: Trim = |line| line;
    for trimmed in [as_is, trim_blanks_at_end, trim] {
        if let Some(found) = best(text, wanted, trimmed, choice, work) {
            return Some(found);
        }
    }
    let is_plain = |text: &[u8]| text.is_ascii();
    if is_plain(text) && wanted.iter().all(|line| is_plain(line)) {
        return None;
    }
    if !take(&mut work.finding, text.len()) {
        return None;
    }
    let text = plain(text);
    let wanted: Vec<_> = wanted.iter().map(|line| plain(line)).collect();
    let wanted: Vec<&[u8]> = wanted.iter().map(|line| &**line).collect();
    best(&text, &wanted, trim, choice, work)
}

/// Finds the place of lines that is chosen, in one pass.
fn best(
    text: &[u8],
    wanted: &[&[u8]],
    trim: Trim,
    choice: Choice,
    work: &mut Work,
) -> Option<Found> {
    let pattern = Pattern::new(wanted.iter().map(|line| trim(line)));
    // The longest line has to be there.
    let searched = memchr::memmem::find(text, pattern.longest());
    if !take(&mut work.finding, searched.unwrap_or(text.len()) / FASTER) {
        return None;
    }
    searched?;
    let mut best: Option<Found> = None;
    let mut matched = 0;
    for (index, line) in Lines(text).enumerate() {
        let left = match best {
            Some(_) if choice.counts => &mut work.counting,
            _ => &mut work.finding,
        };
        if !take(left, line.len()) {
            // A place that was found first is the one, however many there are.
            return best.filter(|_| choice.counts);
        }
        matched = pattern.step(matched, trim(line.text));
        let found = (matched == pattern.len()).then(|| index + 1 - pattern.len());
        match (found, &mut best) {
            (Some(line), None) => best = Some(Found { line, places: 1 }),
            (Some(_), Some(best)) if choice.counts => best.places += 1,
            (Some(line), Some(best)) => {
                let near = choice.near.unwrap_or_default();
                if line.abs_diff(near) < best.line.abs_diff(near) {
                    best.line = line;
                }
            }
            (None, _) => {}
        }
        let next = (index + 2).saturating_sub(pattern.len());
        let is_nearer = |found: Found, near: usize| {
            next < near || next.abs_diff(near) < found.line.abs_diff(near)
        };
        let goes_on =
            |found| choice.counts || choice.near.is_some_and(|near| is_nearer(found, near));
        if best.is_some_and(|found| !goes_on(found)) {
            break;
        }
    }
    best
}

/// Returns a text with plain punctuation, as the original matcher of the format has it.
fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return text.into();
    }
    let chars = bstr::ByteSlice::char_indices(text).map(|(from, to, char)| (from..to, char));
    let mut plain = Vec::with_capacity(text.len());
    for (range, char) in chars {
        match char {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push(b'-'),
            '\u{2018}'..='\u{201B}' => plain.push(b'\''),
            '\u{201C}'..='\u{201F}' => plain.push(b'"'),
            '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => {
                plain.push(b' ');
            }
            _ => plain.extend_from_slice(text.get(range).unwrap_or_default()),
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_pass_decides_and_the_choice_within_it() {
        let text = "x\n  a\nb \n\na\nb\na\nb\n\u{201C}q\u{201D}\u{2014}\n".as_bytes();
        let choose = |(at_end, near): (bool, Option<usize>)| Choice {
            at_end,
            near,
            counts: !at_end && near.is_none(),
        };
        for (wanted, choice, expected) in [
            (&["a", "b"][..], (false, None), Some((4, 2))),
            (&["a", "b"], (false, Some(6)), Some((6, 1))),
            (&["a", "b"], (false, Some(5)), Some((4, 1))),
            (&["a", "b"], (false, Some(0)), Some((4, 1))),
            (&["a", "b"], (true, None), Some((4, 1))),
            (&["  a", "b"], (false, None), Some((1, 1))),
            (&["\ta"], (false, None), Some((1, 3))),
            (&["\"q\"-"], (true, None), Some((8, 1))),
            (&["\"q\"+"], (false, None), None),
            (&[""], (false, None), Some((3, 1))),
            (&["a", "b", "c"], (false, None), None),
        ] {
            let wanted: Vec<_> = wanted.iter().map(|line| line.as_bytes()).collect();
            let found = find(text, &wanted, choose(choice), &mut Work::default());
            let found = found.map(|found| (found.line, found.places));
            assert_eq!(found, expected, "{wanted:?} {choice:?}");
        }
        let mut work = Work::default();
        assert_eq!(find(b"", &[b"a"], choose((true, None)), &mut work), None);
    }

    #[test]
    fn work_is_bounded() {
        let text = b"a\n".repeat(100);
        let counted = Choice {
            counts: true,
            ..Choice::default()
        };
        let mut work = Work {
            finding: 500,
            counting: 150,
        };
        // Counting ends, and what was found first stays.
        let mut places = || find(&text, &[b"a"], counted, &mut work).map(|found| found.places);
        assert_eq!([places(), places()], [Some(75), Some(1)]);
        // The lines up to the place are gone over, not those behind it.
        let before = work.finding;
        find(&text, &[b"a"], Choice::default(), &mut work);
        assert_eq!(before - work.finding, 2);
        // A line that is nowhere is not looked for line by line.
        assert_eq!(find(&text, &[b"b"], counted, &mut work), None);
        assert!(before - work.finding < 200 && !work.is_too_much());
        let missing: [&[u8]; 3] = [b"a", b"a", b""];
        while !work.is_too_much() {
            assert_eq!(find(&text, &missing, counted, &mut work), None);
        }
        assert_eq!(find(&text, &[b"a"], counted, &mut work), None);
    }
}
