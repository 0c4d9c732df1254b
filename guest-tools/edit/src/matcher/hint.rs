//! Hints for a search string that is not found.

mod inversion;
mod miscount;
mod numbers;
mod spelling;

use super::Edit;

/// How many lines of the file a hint names.
const NAMED: usize = 5;

/// Returns what may be wrong, in one or more sentences without the last period.
///
/// Line numbers that were copied with the lines are certain to be wrong. Most often else a long row of the same character has a
/// wrong length. Less often search string and replacement are swapped.
pub(super) fn hint(text: &[u8], edit: &Edit<'_>) -> Option<String> {
    numbers::hint(text, edit.search)
        .or_else(|| miscount::hint(text, edit.search))
        .or_else(|| inversion::hint(text, edit.replace))
}

/// Returns the first of these, and how many there are more: `2, 4 and 3 more`.
fn list(named: &[String], more: usize) -> String {
    let mut list = named.join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}
