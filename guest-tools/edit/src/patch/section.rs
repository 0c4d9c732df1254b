//! The section of a patch about one file.

use std::borrow::Cow;

use crate::matcher::Hunk;

/// The changes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub(super) path: Cow<'a, str>,
    pub(super) action: Action<'a>,
    /// The parts of the section that are not done.
    pub(super) note: Option<String>,
}

/// The change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action<'a> {
    /// It is made.
    Add {
        content: String,
        /// Whether it may replace a file.
        replaces: bool,
    },
    /// It is removed. A unified diff names its lines.
    Delete { hunks: Vec<Hunk<'a>> },
    /// It is changed.
    Update {
        hunks: Vec<Hunk<'a>>,
        /// Where it is moved or copied to.
        to: Option<Destination<'a>>,
        /// Another name of the file in the patch, which counts if there is no file of the first name.
        other: Option<Cow<'a, str>>,
    },
}

/// Where a file is moved or copied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination<'a> {
    pub(super) path: Cow<'a, str>,
    /// Whether the file stays where it was.
    pub(super) is_copy: bool,
    /// Whether it may replace a file.
    pub(super) replaces: bool,
}
