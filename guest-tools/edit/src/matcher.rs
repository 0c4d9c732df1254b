//! Finding the text that an edit names, and replacing it.
//!
//! The text is looked for as it is; then line by line without the blanks and tabs at the ends of lines; then without the white
//! space on both sides of them. The first of these three passes that finds something decides, and what it finds has to be
//! unique unless all of it is to be replaced. In the second and third pass what the file has stays where the edit does not
//! change it: white space before and after a line, and its ending. In all of them the file keeps its kind of line endings.
//!
//! In one thing this departs from the matcher that it is modelled on. There the first pass decides whatever it finds, also if a
//! search string that is indented less than the file is found halfway in the indentation of a line. But then the first line of
//! the replacement becomes deeper than the edit has it and the others do not, or a removed line leaves a part of its indentation
//! to the next one: code that is broken without a word, by the very mistake that the other passes are for. So if all matches
//! begin there, the search string begins with a blank or a tab, and the edit is more than one line that becomes another, the
//! other passes are asked first. Where they find nothing, or some matches begin elsewhere, the first pass decides as ever, and
//! how many there are is not counted in another way; but those that begin there are replaced line by line from the beginning of
//! their line, as in the other passes. An edit that changes the indentation of its first line is taken as it is.
//!
//! Everything here is pure, works on bytes of any kind, and takes time in proportion to the file and the edit.

mod alignment;
mod change;
mod endings;
mod error;
mod escapes;
mod exact;
mod halfway;
mod hint;
mod hunk;
mod indent;
mod lines;
mod misfit;
mod output;
mod patched;
mod pattern;
mod placement;
mod seek;
mod seeker;
mod splice;
mod translation;
mod windows;

use change::Change;
use output::Output;

pub use error::{Error, Reason};
pub(crate) use hunk::{Hunk, HunkLine, Sign};
pub(crate) use lines::{Ending, Line};
pub(crate) use patched::patch;

/// How many bytes a file may have after an edit, unless it had more before.
///
/// A short text can match millions of times, and what replaces it can be long.
pub const MAX_RESULT: usize = 16 * 1024 * 1024;

/// A byte order mark.
pub(crate) const BOM: &[u8] = "\u{FEFF}".as_bytes();

/// One replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit<'a> {
    /// The text to look for.
    pub search: &'a str,
    /// What takes its place.
    pub replace: &'a str,
    /// Whether all matches are replaced. Otherwise there has to be exactly one.
    pub replace_all: bool,
}

/// Applies the edits one after the other, each to the result of the one before.
///
/// A byte order mark at the beginning stays, unless a search string begins with it.
///
/// ```
/// use toolhost_edit::matcher::{Edit, apply};
///
/// let file = b"func main() {\r\n\tfirst()\r\n}\r\n";
/// let edit = Edit {
///     search: "    first()\n",
///     replace: "    if ready {\n        first()\n    }\n",
///     replace_all: false,
/// };
/// assert_eq!(
///     apply(file, &[edit]).unwrap(),
///     b"func main() {\r\n\tif ready {\r\n\t\tfirst()\r\n\t}\r\n}\r\n"
/// );
/// ```
///
/// # Errors
///
/// The first edit that cannot be made, and why: its search string is empty, is not found, or matches more than once, or the
/// file would become longer than [`MAX_RESULT`].
pub fn apply(content: &[u8], edits: &[Edit<'_>]) -> Result<Vec<u8>, Error> {
    let mut edits = edits.iter().enumerate();
    let Some((index, first)) = edits.next() else {
        return Ok(content.to_vec());
    };
    let failed = |index| move |reason| Error { index, reason };
    let result = apply_one(content, first).map_err(failed(index))?;
    edits.try_fold(result, |content, (index, edit)| {
        apply_one(&content, edit).map_err(failed(index))
    })
}

fn apply_one(content: &[u8], edit: &Edit<'_>) -> Result<Vec<u8>, Reason> {
    if edit.search.is_empty() {
        return Err(Reason::EmptySearch);
    }
    let searches_mark = edit.search.as_bytes().starts_with(BOM);
    let (mark, text) = match content.strip_prefix(BOM) {
        Some(text) if !searches_mark => (BOM, text),
        _ => (&b""[..], content),
    };
    let mut output = Output::new(content.len(), mark);
    replace(text, edit, &mut output)?;
    let output = output.into_bytes();
    // A replacement of the beginning may have a mark as well, if its author sees the one that is there.
    let is_doubled = |bytes: &[u8]| bytes.starts_with(&[BOM, BOM].concat());
    if !mark.is_empty() && is_doubled(&output) && !is_doubled(content) {
        return Ok(output.split_at(mark.len()).1.to_vec());
    }
    Ok(output)
}

/// Adds the text with the edit made to the output.
fn replace(text: &[u8], edit: &Edit<'_>, output: &mut Output) -> Result<(), Reason> {
    let search = edit.search.as_bytes();
    let change = Change::new(text, edit);
    if exact::is_found(text, search) {
        // What begins halfway in an indentation is a part of a line. Whole lines are more likely to be the ones that are meant.
        if halfway::are_all(text, search, &change)
            && !change.changes_endings()
            && let Some(windows) = windows::find(text, search)
        {
            check_unique(edit, || windows.count())?;
            return splice::replace(text, &windows, &change, output);
        }
        // Of two places that overlap, neither is the one that was meant for sure.
        check_unique(edit, || exact::occurrences(text, search).count())?;
        return exact::replace(text, search, &change, output);
    }
    // Who writes other endings than were looked for means them. A search that takes any ending would hide that the file has
    // others than was thought.
    let line_endings = change.changes_endings();
    if !line_endings && let Some(windows) = windows::find(text, search) {
        check_unique(edit, || windows.count())?;
        return splice::replace(text, &windows, &change, output);
    }
    if let Some((search, replace_by)) = escapes::resolved(edit) {
        let resolved = Edit {
            search: &search,
            replace: &replace_by,
            ..*edit
        };
        match replace(text, &resolved, output) {
            Err(Reason::NotFound { .. }) => {}
            made => return made,
        }
    }
    Err(Reason::NotFound {
        line_endings,
        hint: hint::hint(text, edit, line_endings),
    })
}

fn check_unique(edit: &Edit<'_>, count: impl FnOnce() -> usize) -> Result<(), Reason> {
    if edit.replace_all {
        return Ok(());
    }
    match count() {
        0 | 1 => Ok(()),
        matches => Err(Reason::Ambiguous { matches }),
    }
}

#[cfg(test)]
mod tests;
