//! Where the lines of a hunk are in a file.
//!
//! The passes are those of `edit_files` and one more, for hunks whose author wrote plain punctuation: lines as they are, without blanks and
//! tabs at their ends, without white space on both sides, and with plain dashes, quotes and blanks in the place of others. The first pass
//! that finds the lines decides.

use std::borrow::Cow;

use super::lines::{Lines, trim, trim_blanks_at_end};
use super::pattern::Pattern;

/// What of a line is compared.
type Trim = fn(&[u8]) -> &[u8];

/// Which of several places is taken. By default, it is the first one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    /// Whether the end of the file comes first, if the lines are there.
    pub(super) at_end: bool,
    /// The line, counted from 0, to which the place is the nearest.
    pub(super) near: Option<usize>,
}

/// Where lines were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The first line, counted from 0.
    pub(super) line: usize,
    /// At how many places they are.
    pub(super) places: usize,
}

/// Finds lines in a text. There is at least one of them.
pub(super) fn find(text: &[u8], wanted: &[&[u8]], choice: Choice) -> Option<Found> {
    if choice.at_end {
        let at_end = passes(text, wanted, |starts| {
            let last = Lines(text).count().checked_sub(wanted.len())?;
            starts.filter(|line| *line == last).last()
        });
        if let Some(line) = at_end {
            return Some(Found { line, places: 1 });
        }
    }
    passes(text, wanted, |starts| {
        let mut best: Option<Found> = None;
        for line in starts {
            let places = best.map_or(0, |best| best.places) + 1;
            let distance = |line: usize| choice.near.map_or(0, |near| line.abs_diff(near));
            let line = match best {
                Some(best) if distance(best.line) <= distance(line) => best.line,
                _ => line,
            };
            best = Some(Found { line, places });
        }
        best
    })
}

/// Calls a function with the first lines of all places that a pass finds, pass by pass, until it chooses one.
fn passes<T>(
    text: &[u8],
    wanted: &[&[u8]],
    choose: impl Fn(&mut dyn Iterator<Item = usize>) -> Option<T>,
) -> Option<T> {
    let as_is: Trim = |line| line;
    for trimmed in [as_is, trim_blanks_at_end, trim] {
        let mut starts = starts(text, wanted, trimmed);
        if let Some(chosen) = choose(&mut starts) {
            return Some(chosen);
        }
    }
    let is_plain = |text: &[u8]| text.is_ascii();
    if is_plain(text) && wanted.iter().all(|line| is_plain(line)) {
        return None;
    }
    let text = plain(text);
    let wanted: Vec<_> = wanted.iter().map(|line| plain(line)).collect();
    let wanted: Vec<&[u8]> = wanted.iter().map(|line| &**line).collect();
    choose(&mut starts(&text, &wanted, trim))
}

/// Returns the numbers of the lines, counted from 0, at which all of these begin.
fn starts<'a>(text: &'a [u8], wanted: &[&'a [u8]], trim: Trim) -> impl Iterator<Item = usize> {
    let pattern = Pattern::new(wanted.iter().map(|line| trim(line)));
    let mut matched = 0;
    Lines(text).enumerate().filter_map(move |(index, line)| {
        matched = pattern.step(matched, trim(line.text));
        (matched == pattern.len()).then(|| index + 1 - pattern.len())
    })
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
        let choose = |(at_end, near)| Choice { at_end, near };
        for (wanted, choice, expected) in [
            (&["a", "b"][..], (false, None), Some((4, 2))),
            (&["a", "b"], (false, Some(6)), Some((6, 2))),
            (&["a", "b"], (false, Some(5)), Some((4, 2))),
            (&["a", "b"], (false, Some(0)), Some((4, 2))),
            (&["a", "b"], (true, None), Some((4, 2))),
            (&["  a", "b"], (false, None), Some((1, 1))),
            (&["\ta"], (false, None), Some((1, 3))),
            (&["\"q\"-"], (true, None), Some((8, 1))),
            (&["\"q\"+"], (false, None), None),
            (&[""], (false, None), Some((3, 1))),
            (&["a", "b", "c"], (false, None), None),
        ] {
            let wanted: Vec<_> = wanted.iter().map(|line| line.as_bytes()).collect();
            let found = find(text, &wanted, choose(choice)).map(|found| (found.line, found.places));
            assert_eq!(found, expected, "{wanted:?} {choice:?}");
        }
        assert_eq!(find(b"", &[b"a"], choose((true, None))), None);
    }
}
