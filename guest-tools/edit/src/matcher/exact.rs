//! The first pass: the search string as it is.

use memchr::memmem;

use super::Reason;
use super::change::Change;
use super::lines::Ending;
use super::output::Output;

/// Returns whether a text has the search string.
pub(super) fn is_found(text: &[u8], search: &[u8]) -> bool {
    memmem::find(text, search).is_some()
}

/// Returns how often a text has the search string. Those that overlap count once.
pub(super) fn count(text: &[u8], search: &[u8]) -> usize {
    memmem::find_iter(text, search).count()
}

/// Adds the text with all of them replaced to the output.
pub(super) fn replace(
    text: &[u8],
    search: &[u8],
    change: &Change<'_>,
    output: &mut Output,
) -> Result<(), Reason> {
    let new = replacement(change, Ending::Lf);
    let mut new_after_cr = None;
    let mut rest = text;
    let mut done = 0;
    for start in memmem::find_iter(text, search) {
        let (before, from) = rest.split_at(start - done);
        // A line feed at the beginning can be half of an ending. The other half is no text that stays.
        let in_ending = before
            .strip_suffix(b"\r")
            .filter(|_| search.starts_with(b"\n"));
        match in_ending {
            Some(before) => {
                output.push(before)?;
                output
                    .push(new_after_cr.get_or_insert_with(|| replacement(change, Ending::CrLf)))?;
            }
            None => {
                output.push(before)?;
                output.push(&new)?;
            }
        }
        (_, rest) = from.split_at(search.len());
        done = start + search.len();
    }
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
