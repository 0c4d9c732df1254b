//! Hints for a search string that is not found.

mod fold;
mod inversion;
mod looks;
mod miscount;
mod nearest;
mod prefixes;
mod quoted;
mod spelling;

use super::endings::dominant;
use super::lines::Ending;
use super::{Edit, windows};

/// How many lines of the file a hint names.
const NAMED: usize = 5;

/// Returns what may be wrong, in one or more sentences without the last period.
///
/// Line numbers or marks of a diff that were copied with the lines are certain to be wrong, as are escapes, and characters that only
/// look the same.
/// Most often else a long row of the same character has a wrong length. Less often search string and replacement are swapped. If it is
/// none of these, the lines that are most like the search string are shown.
pub(super) fn hint(text: &[u8], edit: &Edit<'_>, line_endings: bool) -> Option<String> {
    let ending = || endings(text, edit.search).filter(|_| line_endings);
    ending()
        .or_else(|| prefixes::hint(text, edit.search))
        .or_else(|| quoted::hint(text, edit.search))
        .or_else(|| looks::hint(text, edit.search))
        .or_else(|| miscount::hint(text, edit.search))
        .or_else(|| inversion::hint(text, edit.replace))
        .or_else(|| nearest::hint(text, edit.search))
}

/// Says that the file has the lines of the search string, with other endings.
fn endings(text: &[u8], search: &str) -> Option<String> {
    windows::find(text, search.as_bytes())?;
    let (has, searched) = match dominant(text)? {
        Ending::CrLf => ("CRLF", "LF"),
        Ending::Lf | Ending::None => ("LF", "CRLF"),
    };
    Some(format!(
        "The file has these lines, and they end with {has}; your search string has {searched}"
    ))
}

/// Returns the first of these, and how many there are more: `2, 4 and 3 more`.
fn list(named: &[String], more: usize) -> String {
    let mut list = named.join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}

#[cfg(test)]
mod tests;
