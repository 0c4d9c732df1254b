//! The first pass: the search string as it is.

use memchr::memmem;

use super::Reason;
use super::change::Change;
use super::halfway;
use super::lines::Ending;
use super::output::Output;
use super::pattern::Pattern;
use super::splice::Splicer;

/// Returns whether a text has the search string.
pub(super) fn is_found(text: &[u8], search: &[u8]) -> bool {
    memmem::find(text, search).is_some()
}

/// Returns where the search string begins, also within another occurrence of it.
pub(super) fn occurrences(text: &[u8], search: &[u8]) -> impl Iterator<Item = usize> {
    // Mostly there is none, which is found out faster this way.
    let first = memmem::find(text, search).unwrap_or(text.len());
    let pattern = Pattern::new(search.iter().copied());
    let mut matched = 0;
    (first..)
        .zip(text.iter().skip(first))
        .filter_map(move |(at, &byte)| {
            matched = pattern.step(matched, byte);
            (matched == pattern.len()).then(|| at + 1 - pattern.len())
        })
}

/// Adds the text with all of them replaced to the output. Those that begin halfway in the indentation of a line are replaced
/// from its beginning, line by line.
pub(super) fn replace<'a>(
    text: &'a [u8],
    search: &[u8],
    change: &Change<'a>,
    output: &mut Output,
) -> Result<(), Reason> {
    let new = replacement(change, Ending::Lf);
    let mut new_after_cr = None;
    let mut splicer = Splicer::new(text, change);
    let mut done = 0;
    for start in memmem::find_iter(text, search) {
        let end = start + search.len();
        // A match that ends in this indentation has replaced the beginning of the line already.
        let line = halfway::line(text, start, end, change).filter(|line| *line >= done);
        let before = text.get(done..line.unwrap_or(start)).unwrap_or_default();
        // A line feed at the beginning can be half of an ending. The other half is no text that stays.
        let in_ending = before
            .strip_suffix(b"\r")
            .filter(|_| search.starts_with(b"\n"));
        output.push(in_ending.unwrap_or(before))?;
        match line {
            Some(line) => splicer.splice(line, end, output)?,
            None if in_ending.is_some() => output
                .push(new_after_cr.get_or_insert_with(|| replacement(change, Ending::CrLf)))?,
            None => output.push(&new)?,
        }
        done = end;
    }
    let (_, rest) = text.split_at(done);
    output.push(rest)
}

/// Returns what takes the place of the search string, where its first line is as it is or, if that is an empty one, has this
/// ending.
fn replacement(change: &Change<'_>, first: Ending) -> Vec<u8> {
    let mut bytes = Vec::new();
    for new in change.replace() {
        let ending = change.ending(new, |line| match (line, change.search().get(line)) {
            (0, Some(old)) if old.text.is_empty() && old.ending == Ending::Lf => first,
            (_, old) => old.map_or(Ending::None, |old| old.ending),
        });
        bytes.extend_from_slice(new.line.text);
        bytes.extend_from_slice(ending.bytes());
    }
    bytes
}
