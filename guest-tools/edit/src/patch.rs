//! Patches: the format that GPT models are trained on, and unified diffs.
//!
//! Both are read into the same sections, one for each file. A parser of its own, because no crate takes diffs as models write them: with
//! wrong counts and numbers, empty lines without their blank, and text around them.

mod body;
mod envelope;
mod plan;
mod quoted;
mod section;
mod text;
mod unified;
mod values;

use std::fmt;

use crate::commit::{Failure, retry};
use crate::plan::Problem;
use section::Section;
use text::Lines;

pub use values::{Change, Done, PatchFiles, Seen, Shown};

/// Why a patch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Malformed {
    /// The line of the patch, counted from 1.
    line: usize,
    text: String,
}

impl Malformed {
    fn new(line: usize, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { line, text }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid patch at line {}: {}", self.line, self.text)
    }
}

/// Reads a patch of either format.
fn parse(patch: &str) -> Result<Vec<Section<'_>>, Malformed> {
    let lines = Lines::of(patch);
    let sections = match envelope::inside(&lines)? {
        Some(inside) if unified::is_begun(&inside) => unified::parse(&inside)?,
        Some(inside) => envelope::parse(&inside)?,
        None => unified::parse(&lines)?,
    };
    match sections.is_empty() {
        false => Ok(sections),
        true => Err(Malformed::new(
            1,
            "it changes no file. Write a section for each file, such as \"*** Update File: path\"",
        )),
    }
}

/// Applies a patch: changes all of its files or none. Relative paths begin at `base`. All files together may have `most` bytes.
///
/// If a file changed since it was read, reads it again, as [`edit`](crate::edit) does.
///
/// # Errors
///
/// Why nothing is changed: everything that is wrong, in the order of the patch.
pub fn apply<F: PatchFiles>(
    patch: &str,
    base: Option<&str>,
    most: usize,
    files: &mut F,
) -> Result<Vec<Shown>, Failure<F::Error>> {
    let invalid = |error: Malformed| {
        Failure::Problems(vec![Problem::new(crate::Kind::Invalid, error.to_string())])
    };
    let sections = parse(patch).map_err(invalid)?;
    let mut shown = Vec::new();
    retry(
        files,
        |files| {
            // The texts of the try before are let go first.
            shown = Vec::new();
            let (changes, now) = plan::plan(&sections, base, most, files)?;
            shown = now;
            Ok(changes)
        },
        |files, changes| files.change(changes),
    )?;
    Ok(shown)
}

#[cfg(test)]
mod tests;
