//! The tokens that may come next in a list of commands.

use super::Unsure;
use super::word::is_name;

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A command may begin, or what is open may end.
    Any,
    /// A command has to begin.
    Command,
    /// A command has to begin on the same line.
    SameLine,
    /// A command has to begin that is part of a pipe, and that no `!` stands before.
    Piped,
    /// The same, on a line after the `|`.
    PipedLine,
    /// The name of a function has to follow.
    Name,
    /// `()` may follow the name of a function, or its body.
    Named,
    /// The body of a function has to begin, which is a compound command.
    Body,
    /// A simple command has begun, so far with assignments only.
    Assignment,
    /// A simple command has begun whose arguments may be assignments.
    Declaration,
    /// A simple command has begun, so far with a word only that may be the name of a function.
    AfterName,
    /// A simple command has begun.
    Argument,
    /// A compound command has ended.
    Operator,
    /// A compound command has ended whose input or output is redirected.
    Redirected,
}

impl Next {
    /// Returns whether something has to follow before the command may end.
    pub(super) fn needs_more(self) -> bool {
        use Next::{Body, Command, Name, Named, Piped, PipedLine, SameLine};
        matches!(
            self,
            Command | SameLine | Piped | PipedLine | Name | Named | Body
        )
    }

    /// Returns what may come after a line feed.
    pub(super) fn after_line(self) -> Result<Self, Unsure> {
        match self {
            Self::Name | Self::SameLine => Err(Unsure),
            Self::Named => Ok(Self::Body),
            Self::Piped => Ok(Self::PipedLine),
            Self::Command | Self::PipedLine | Self::Body => Ok(self),
            _ => Ok(Self::Any),
        }
    }

    /// Returns what may come after a redirection.
    pub(super) fn after_redirection(self) -> Result<Self, Unsure> {
        match self {
            Self::Name | Self::Named | Self::Body => Err(Unsure),
            // What follows is no reserved word, and need not follow at all.
            Self::Any | Self::Command | Self::SameLine | Self::Piped | Self::PipedLine => {
                Ok(Self::Assignment)
            }
            Self::AfterName | Self::Assignment | Self::Declaration => Ok(Self::Argument),
            Self::Operator => Ok(Self::Redirected),
            next => Ok(next),
        }
    }

    /// Returns what may come after the first word of a simple command.
    pub(super) fn after_first(word: &[u8]) -> Self {
        match word {
            b"declare" | b"export" | b"local" | b"readonly" | b"typeset" => Self::Declaration,
            _ if is_assignment(word) => Self::Assignment,
            _ if is_name(word) => Self::AfterName,
            _ => Self::Argument,
        }
    }
}

/// Returns whether a word assigns something to a variable.
pub(super) fn is_assignment(word: &[u8]) -> bool {
    let name = word.split(|byte| *byte == b'=').next().unwrap_or_default();
    let name = name.strip_suffix(b"+").unwrap_or(name);
    name.len() < word.len() && is_name(name)
}
