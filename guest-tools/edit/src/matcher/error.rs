//! Why an edit cannot be made, in words that tell a model what to do about it.

use std::fmt;

/// An edit that cannot be made.
///
/// Its text names neither the file nor the number of the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Which edit it is, counted from 0.
    pub index: usize,
    /// Why it cannot be made.
    pub reason: Reason,
}

/// Why an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The search string is empty.
    EmptySearch,
    /// The search string matches more than once, and not all of its matches were to be replaced.
    Ambiguous {
        /// How often it matches.
        matches: usize,
    },
    /// The search string matches nowhere.
    NotFound {
        /// Whether its line endings had to match as well, because those of the replacement differ from them.
        line_endings: bool,
        /// What may be wrong with it, as one or more sentences without the last period.
        hint: Option<String>,
    },
    /// The file would become too long.
    TooLong {
        /// How many bytes it may have.
        limit: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptySearch => {
                f.write_str("search string must not be empty; include the text you want to match")
            }
            Self::Ambiguous { matches } => write!(
                f,
                "search string matches {matches} occurrences (expected exactly 1). Include more surrounding context to make the \
                 match unique, or set replace_all to true"
            ),
            Self::NotFound { line_endings, hint } => {
                f.write_str(
                    "search string not found in file. Verify the search string matches the file content exactly, including \
                     whitespace and indentation",
                )?;
                if *line_endings {
                    f.write_str(", and line endings")?;
                }
                hint.iter().try_for_each(|hint| write!(f, ". {hint}"))
            }
            Self::TooLong { limit } => write!(
                f,
                "the file would become longer than {limit} bytes. Replace fewer matches, or with less text"
            ),
        }
    }
}
