//! Hunks of a patch: lines that are found in a file one after the other, and replaced.

use super::lines::Line;

/// The fate of a line.
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
