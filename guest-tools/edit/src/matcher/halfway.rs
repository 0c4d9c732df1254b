//! Matches of the search string as it is that begin halfway in the indentation of a line.
//!
//! A search string that is less deep than the line it is meant for is a part of that line. To replace just this part is right as
//! long as nothing but the line itself changes. Where there are several lines, the first one would become as deep as the file
//! has it and the others as the edit has them; and where the line is removed, a part of its indentation would be left.

use memchr::memmem;

use super::change::Change;
use super::lines::{Lines, trim_blanks_at_end};

/// Returns whether all matches begin so, and it matters. There has to be one.
pub(super) fn are_all(text: &[u8], search: &[u8], change: &Change<'_>) -> bool {
    let mut matches = memmem::find_iter(text, search);
    change.is_of_lines() && matches.all(|start| line_start(text, start).is_some())
}

/// Returns where the line begins in whose indentation this match does; `None` if it begins elsewhere, or if it does not matter.
pub(super) fn line(text: &[u8], start: usize, end: usize, change: &Change<'_>) -> Option<usize> {
    let line = line_start(text, start).filter(|_| change.is_of_lines())?;
    // What stays of a line keeps its indentation, if nothing takes the place of the part that goes.
    let (matched, rest) = text.split_at_checked(end)?;
    let stays = || Lines(rest).next().is_some_and(|rest| !rest.is_blank());
    let is_part = change.is_removal() && !matched.ends_with(b"\n") && stays();
    (!is_part).then_some(line)
}

/// Returns where the line begins that has nothing but blanks and tabs, and at least one, before this place.
fn line_start(text: &[u8], at: usize) -> Option<usize> {
    let (before, _) = text.split_at_checked(at)?;
    let outside = trim_blanks_at_end(before);
    let is_start = outside.is_empty() || outside.ends_with(b"\n");
    (is_start && outside.len() < at).then_some(outside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_that_a_place_is_in_the_indentation_of() {
        for (text, at, expected) in [
            (&b"  a"[..], 0, None),
            (b"  a", 1, Some(0)),
            (b"  a", 2, Some(0)),
            (b"  a", 3, None),
            (b"  a", 4, None),
            (b"a\r\n\t b", 3, None),
            (b"a\r\n\t b", 4, Some(3)),
            (b"a\r\n\t b", 5, Some(3)),
            (b"a  b", 2, None),
            (b"a\r  b", 3, None),
            (b"\xFF  b", 2, None),
        ] {
            assert_eq!(line_start(text, at), expected, "{text:?} {at}");
        }
    }
}
