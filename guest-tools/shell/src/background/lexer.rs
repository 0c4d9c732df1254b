//! A lexer for the shell's command language, as far as it takes to tell which `&` ends a command at the top level.
//!
//! It knows quotes, escapes, comments, here-documents, substitutions and compound commands. It is strict: where a shell
//! might report an error, or where `sh` and `bash` differ in what matters here, it is [`Unsure`].

mod grammar;
mod list;
mod word;

/// How deep substitutions may be nested. The stack of a guest is small.
const MAX_DEPTH: u32 = 48;

/// What is known of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The lone `&` that is the last token of the command at its top level.
    pub(crate) trailing: Option<Ampersand>,
    /// Whether nothing outside of substitutions is piped or redirected.
    pub(crate) plain: bool,
}

/// Where a trailing `&` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ampersand {
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

/// Looks at a command.
///
/// # Errors
///
/// The command is incomplete, has a syntax error, or is too hard.
pub(crate) fn lex(command: &str) -> Result<Facts, Unsure> {
    // Some forms have to be read twice, which must not add up.
    let fuel = command.len().saturating_mul(8).saturating_add(64);
    Lexer {
        text: command.as_bytes(),
        at: 0,
        depth: 0,
        fuel,
    }
    .list(false)
}

/// A position in a command.
#[derive(Debug)]
struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// How many more bytes may be looked at.
    fuel: usize,
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
        self.text.get(start..self.at).unwrap_or_default()
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
}
