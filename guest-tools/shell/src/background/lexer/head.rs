//! Heads of `for`, `select` and `case`, in which words and operators mean something else than in commands.

use super::Unsure;
use super::word::is_name;

/// What comes next in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// The name after `for`, or `((…))`.
    For,
    /// What follows the name: `in`, `do`, or `;`.
    AfterName,
    /// What follows `in`, up to `;` or a line feed.
    Words,
    /// `do`, after one `;` at most.
    AfterCalculation,
    /// `do`.
    Do,
    /// The word of `case`.
    Case,
    /// The `in` of `case`.
    In,
    /// A pattern or `(`, or `esac`.
    Pattern,
    /// A pattern.
    Alternative,
    /// `|` or `)`.
    AfterPattern,
}

/// What a word does to a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The head goes on.
    Head(Head),
    /// `do` ends it.
    Do,
    /// `esac` ends the whole command.
    Esac,
}

impl Head {
    pub(super) fn word(self, word: &[u8]) -> Result<Step, Unsure> {
        match (self, word) {
            (Self::For, _) if is_name(word) => Ok(Step::Head(Self::AfterName)),
            (Self::AfterName, b"in") => Ok(Step::Head(Self::Words)),
            (Self::AfterName | Self::AfterCalculation | Self::Do, b"do") => Ok(Step::Do),
            (Self::Words, _) => Ok(Step::Head(Self::Words)),
            (Self::Case, _) => Ok(Step::Head(Self::In)),
            (Self::In, b"in") => Ok(Step::Head(Self::Pattern)),
            (Self::Pattern, b"esac") => Ok(Step::Esac),
            // To bash, this is no pattern.
            (Self::Pattern | Self::Alternative, b"}") => Err(Unsure),
            (Self::Pattern | Self::Alternative, _) => Ok(Step::Head(Self::AfterPattern)),
            _ => Err(Unsure),
        }
    }

    pub(super) fn new_line(self) -> Result<Self, Unsure> {
        match self {
            Self::AfterName | Self::Words | Self::AfterCalculation | Self::Do => Ok(Self::Do),
            Self::Pattern => Ok(Self::Pattern),
            _ => Err(Unsure),
        }
    }

    pub(super) fn semicolon(self) -> Result<Self, Unsure> {
        match self {
            Self::AfterName | Self::Words | Self::AfterCalculation => Ok(Self::Do),
            _ => Err(Unsure),
        }
    }
}
