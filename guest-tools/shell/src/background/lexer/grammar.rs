//! Where commands begin and end: which compound commands are open, and what may come next.

use super::Unsure;

/// A compound command that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// `(`, up to `)`.
    Parenthesis,
    /// `{`, up to `}`.
    Brace,
    /// `if` or `elif`, up to `then`.
    If,
    /// `then`, up to `elif`, `else` or `fi`.
    Then,
    /// `else`, up to `fi`.
    Else,
    /// `for`, `while`, `until` or `select`, up to `do`.
    Loop,
    /// `do`, up to `done`.
    Do,
    /// `case`, up to its word.
    Case,
    /// The word of `case`, up to `in`.
    CaseIn,
    /// A pattern of `case`, up to `)`, or `esac`.
    Pattern,
    /// What follows a pattern of `case`, up to `;;`, or `esac`.
    Clause,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A command may begin, or what is open may end.
    Any,
    /// A command has to begin.
    Command,
    /// The body of a function has to begin, which is a compound command.
    Body,
    /// A simple command has begun.
    Argument,
    /// A compound command has ended.
    Operator,
}

/// The state of a list of commands. Every step fails where a shell would report a syntax error, or might.
#[derive(Debug)]
pub(super) struct Grammar {
    open: Vec<Open>,
    next: Next,
    /// Whether a redirection needs its target.
    needs_target: bool,
}

impl Grammar {
    pub(super) fn new() -> Self {
        Self {
            open: Vec::new(),
            next: Next::Any,
            needs_target: false,
        }
    }

    pub(super) fn is_top_level(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn is_in(&self, open: Open) -> bool {
        self.open.last() == Some(&open)
    }

    pub(super) fn begins_command(&self) -> bool {
        matches!(self.next, Next::Any | Next::Command | Next::Body)
    }

    /// Takes an operator between commands: one has to stand before it, and for some of them after it.
    pub(super) fn separate(&mut self, next: Next) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.begins_command() || self.is_in_head_of_case() {
            return Err(Unsure);
        }
        self.next = next;
        Ok(())
    }

    pub(super) fn new_line(&mut self) -> Result<(), Unsure> {
        if !self.begins_command() && !self.is_in_head_of_case() {
            self.next = Next::Any;
        }
        self.target_is_there()
    }

    /// Takes an operator of a redirection, whose target is the next word.
    pub(super) fn redirect(&mut self) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.next == Next::Body {
            return Err(Unsure);
        }
        // What follows is no reserved word, and need not follow at all.
        if self.begins_command() {
            self.next = Next::Argument;
        }
        self.needs_target = true;
        Ok(())
    }

    pub(super) fn open_parenthesis(&mut self) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.is_in(Open::Pattern) {
            return Ok(());
        }
        if !self.begins_command() {
            return Err(Unsure);
        }
        self.open.push(Open::Parenthesis);
        self.next = Next::Command;
        Ok(())
    }

    pub(super) fn close_parenthesis(&mut self) -> Result<(), Unsure> {
        if self.is_in(Open::Pattern) {
            self.next = Next::Any;
            return self.replace(Open::Pattern, Open::Clause);
        }
        self.close(Open::Parenthesis)
    }

    /// Takes the parentheses after the name of a function, whose body follows.
    pub(super) fn begin_function(&mut self) -> Result<(), Unsure> {
        self.next = Next::Body;
        self.target_is_there()
    }

    /// Takes `;;` and its kin.
    pub(super) fn end_clause(&mut self) -> Result<(), Unsure> {
        self.replace(Open::Clause, Open::Pattern)?;
        self.ends_here()
    }

    /// Takes a compound command that was read in one go.
    pub(super) fn end_compound(&mut self) -> Result<(), Unsure> {
        self.next = Next::Operator;
        self.target_is_there()
    }

    /// Takes a word, and returns whether it is a `[[` that begins a condition.
    pub(super) fn word(&mut self, word: &[u8]) -> Result<bool, Unsure> {
        if std::mem::take(&mut self.needs_target) {
            return Ok(false);
        }
        match (self.open.last().copied(), word) {
            (Some(Open::Case), _) => self.replace(Open::Case, Open::CaseIn)?,
            (Some(Open::CaseIn), b"in") => self.replace(Open::CaseIn, Open::Pattern)?,
            (Some(Open::CaseIn), _) => return Err(Unsure),
            (Some(Open::Pattern), b"esac") => {
                self.next = Next::Any;
                self.close(Open::Pattern)?;
            }
            (Some(Open::Pattern), _) => {}
            _ if self.next == Next::Argument || self.reserved_word(word)? => {}
            _ if self.next == Next::Operator => return Err(Unsure),
            _ => return self.first_word(word),
        }
        Ok(false)
    }

    pub(super) fn finish(self) -> Result<(), Unsure> {
        self.ends_here()?;
        if self.open.is_empty() {
            Ok(())
        } else {
            Err(Unsure)
        }
    }

    /// Takes the word with which a command begins.
    fn first_word(&mut self, word: &[u8]) -> Result<bool, Unsure> {
        let (open, next) = match word {
            b"{" => (Some(Open::Brace), Next::Command),
            b"if" => (Some(Open::If), Next::Command),
            b"while" | b"until" => (Some(Open::Loop), Next::Command),
            b"for" | b"select" => (Some(Open::Loop), Next::Argument),
            b"case" => (Some(Open::Case), Next::Argument),
            b"[[" => (None, Next::Operator),
            _ if self.next == Next::Body => return Err(Unsure),
            b"!" | b"time" => (None, Next::Command),
            _ => (None, Next::Argument),
        };
        self.open.extend(open);
        self.next = next;
        Ok(word == b"[[")
    }

    /// Takes a word that goes on with a compound command or ends it, and returns whether it is one.
    fn reserved_word(&mut self, word: &[u8]) -> Result<bool, Unsure> {
        match word {
            b"then" => self.go_on(Open::If, Open::Then)?,
            b"elif" => self.go_on(Open::Then, Open::If)?,
            b"else" => self.go_on(Open::Then, Open::Else)?,
            b"fi" if self.is_in(Open::Else) => self.close(Open::Else)?,
            b"fi" => self.close(Open::Then)?,
            b"do" => self.go_on(Open::Loop, Open::Do)?,
            b"done" => self.close(Open::Do)?,
            b"esac" => self.close(Open::Clause)?,
            b"}" => self.close(Open::Brace)?,
            b"]]" => return Err(Unsure),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn go_on(&mut self, old: Open, new: Open) -> Result<(), Unsure> {
        self.ends_here()?;
        self.next = Next::Command;
        self.replace(old, new)
    }

    fn close(&mut self, open: Open) -> Result<(), Unsure> {
        self.ends_here()?;
        self.open.pop_if(|last| *last == open).ok_or(Unsure)?;
        self.next = Next::Operator;
        Ok(())
    }

    fn replace(&mut self, old: Open, new: Open) -> Result<(), Unsure> {
        self.open.pop_if(|open| *open == old).ok_or(Unsure)?;
        self.open.push(new);
        Ok(())
    }

    fn is_in_head_of_case(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open::Case | Open::CaseIn | Open::Pattern)
        )
    }

    /// Fails if something has to follow.
    fn ends_here(&self) -> Result<(), Unsure> {
        if matches!(self.next, Next::Command | Next::Body) {
            Err(Unsure)
        } else {
            self.target_is_there()
        }
    }

    fn target_is_there(&self) -> Result<(), Unsure> {
        if self.needs_target {
            Err(Unsure)
        } else {
            Ok(())
        }
    }
}
