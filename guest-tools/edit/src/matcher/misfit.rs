//! Why a hunk does not fit.

use super::Reason;

/// Why a hunk cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The line that an `@@` names is not there, or not behind the hunk before.
    Anchor(String, Option<String>),
    /// The lines are not there; what may be wrong with them.
    Lines(Option<String>),
    /// The lines are at this line only, counted from 1, which is before the end of the hunk before.
    Order(usize),
    /// Looking for the lines, after those of the hunks before, takes too long.
    TooMuch,
    /// The file would become too long.
    TooLong(Reason),
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anchor(line, hint) => {
                write!(
                    f,
                    "the line {line:?} behind @@ is not in the file, or not below the hunk before. Copy a whole line of the file, or leave it out"
                )?;
                hint.iter().try_for_each(|hint| write!(f, ". {hint}"))
            }
            Self::Lines(hint) => {
                f.write_str(
                    "the lines of the hunk are not in the file. Verify that those that begin with a blank or \"-\" match the file exactly, \
                     including whitespace and indentation",
                )?;
                hint.iter().try_for_each(|hint| write!(f, ". {hint}"))
            }
            Self::Order(line) => write!(
                f,
                "the lines of the hunk are at line {line} only, above the end of the hunk before. Put the hunks in the order of the file"
            ),
            Self::TooMuch => f.write_str(
                "the hunks of this file take too long to find. Apply fewer at once, or copy the lines exactly, which are found sooner",
            ),
            Self::TooLong(reason) => reason.fmt(f),
        }
    }
}
