//! A lexer for the shell's command language, as far as it takes to tell which `&` ends a command, and where.
//!
//! It knows quotes, escapes, comments, here-documents, substitutions and compound commands. It is strict: where the shell might
//! report an error, it is [`Unsure`]. `sh` can be any POSIX shell, also bash in its POSIX mode. So in a command for `sh`, the forms of
//! bash are unsure as well.

mod condition;
mod grammar;
mod head;
mod here_document;
mod list;
mod next;
mod parameter;
mod url;
mod word;

use std::ops::Range;

use toolhost_sdk::processes::Shell;

/// How deep substitutions may be nested. The stack of a guest is small.
const MAX_DEPTH: u32 = 48;

/// What is known of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The lone `&` that is the last token of the command at its top level.
    pub(crate) trailing: Option<Trailing>,
    /// Whether an `&` at the top level ends a command that others follow.
    pub(crate) interior: bool,
    /// Whether an `&` ends a command inside of a compound command or a substitution.
    pub(crate) nested: bool,
    /// What an `&` made a command of its own that was most likely meant to be part of a URL.
    pub(crate) split_url: Option<Range<usize>>,
    /// Whether nothing outside of substitutions is piped or redirected.
    pub(crate) plain: bool,
}

impl Facts {
    fn has_ampersand(&self) -> bool {
        self.trailing.is_some() || self.interior || self.nested
    }
}

/// Where a trailing `&` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailing {
    /// The end of the token before it.
    pub(crate) after_command: usize,
    /// Its own position.
    pub(crate) at: usize,
    /// Whether bodies of here-documents follow it.
    pub(crate) before_bodies: bool,
}

/// The lexer cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsure;

/// Looks at a command for this shell.
///
/// # Errors
///
/// The command is incomplete, has a syntax error, or is too hard.
pub(crate) fn lex(command: &str, shell: Shell) -> Result<Facts, Unsure> {
    let mut lexer = Lexer {
        shell,
        text: command.as_bytes(),
        at: 0,
        depth: 0,
        // Some forms have to be read twice, which must not add up.
        fuel: command.len().saturating_mul(8).saturating_add(64),
        nested: false,
    };
    let mut facts = lexer.list(false)?;
    facts.nested |= lexer.nested;
    Ok(facts)
}

/// Fails unless bash runs the command: it has a form that other shells do not know, or take for something else.
fn of_bash(shell: Shell) -> Result<(), Unsure> {
    match shell {
        Shell::Bash => Ok(()),
        Shell::Sh => Err(Unsure),
    }
}

/// A position in a command.
#[derive(Debug)]
struct Lexer<'a> {
    shell: Shell,
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// How many more bytes may be looked at.
    fuel: usize,
    /// Whether an `&` ended a command inside of a substitution.
    nested: bool,
}

impl<'a> Lexer<'a> {
    /// Returns the next byte.
    fn peek(&mut self) -> Result<Option<u8>, Unsure> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Unsure)?;
        Ok(self.text.get(self.at).copied())
    }

    /// Returns whether the text goes on with this.
    fn sees(&self, token: &str) -> bool {
        self.rest().starts_with(token.as_bytes())
    }

    /// Goes past this if the text goes on with it.
    fn takes(&mut self, token: &str) -> bool {
        let sees = self.sees(token);
        if sees {
            self.at += token.len();
        }
        sees
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'a [u8] {
        let end = self.at.min(self.text.len());
        self.text.get(start..end).unwrap_or_default()
    }

    /// Goes past blanks and continued lines.
    fn skip_blanks(&mut self) -> Result<(), Unsure> {
        while self.takes("\\\n") || matches!(self.peek()?, Some(b' ' | b'\t')) && self.takes_byte()
        {
        }
        Ok(())
    }

    fn takes_byte(&mut self) -> bool {
        self.at += 1;
        true
    }

    /// Goes past the rest of a line, up to its line feed.
    fn rest_of_line(&mut self) -> Result<(), Unsure> {
        while self.peek()?.is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        Ok(())
    }

    /// Runs something that may come back here, one level deeper.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, Unsure>) -> Result<T, Unsure> {
        if self.depth == MAX_DEPTH {
            return Err(Unsure);
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    /// Runs something with another text, such as what a substitution is after its own backslashes are gone.
    fn within<T>(
        &mut self,
        text: &[u8],
        run: impl FnOnce(&mut Lexer<'_>) -> Result<T, Unsure>,
    ) -> Result<T, Unsure> {
        self.nested(|this| {
            let mut inner = Lexer {
                shell: this.shell,
                text,
                at: 0,
                depth: this.depth,
                fuel: this.fuel,
                nested: false,
            };
            let result = run(&mut inner);
            this.fuel = inner.fuel;
            this.nested |= inner.nested;
            result
        })
    }
}
