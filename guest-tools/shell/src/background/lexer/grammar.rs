//! Where commands begin and end: which compound commands are open, and what may come next.

use super::head::{Head, Step};
use super::next::{Next, is_assignment};
use super::word::is_name;
use super::{Unsure, of_bash};
use toolhost_sdk::processes::Shell;

/// A compound command that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
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
    /// `while` or `until`, up to `do`.
    Loop,
    /// `do`, up to `done`.
    Do,
    /// `for`, `select` or `case`, and the patterns of the latter.
    Head(Head),
    /// What follows a pattern of `case`, up to `;;`, or `esac`.
    Clause,
}

/// The state of a list of commands. Every step fails where a shell would report a syntax error, or might.
#[derive(Debug)]
pub(super) struct Grammar {
    shell: Shell,
    open: Vec<Open>,
    next: Next,
    /// Whether a redirection needs its target.
    needs_target: bool,
}

impl Grammar {
    pub(super) fn new(shell: Shell) -> Self {
        Self {
            shell,
            open: Vec::new(),
            next: Next::Any,
            needs_target: false,
        }
    }

    pub(super) fn is_top_level(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns whether a word may assign an array to a variable.
    pub(super) fn may_assign(&self) -> bool {
        let may_follow = matches!(self.next, Next::Assignment | Next::Declaration);
        (may_follow || self.begins_command()) && !self.needs_target
    }

    /// Returns whether `((` may begin a calculation.
    pub(super) fn may_calculate(&self) -> bool {
        self.begins_command() || self.head() == Some(Head::For)
    }

    /// Returns whether the last word may be the name of a function.
    pub(super) fn ends_name(&self) -> bool {
        matches!(self.next, Next::AfterName | Next::Named)
    }

    /// Takes an operator between commands: one has to stand before it, and for some of them after it.
    pub(super) fn separate(&mut self, next: Next) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.begins_command() || self.next == Next::Name || self.head().is_some() {
            return Err(Unsure);
        }
        self.next = next;
        Ok(())
    }

    pub(super) fn semicolon(&mut self) -> Result<(), Unsure> {
        match self.head() {
            Some(head) => self.go_on_with(head.semicolon()?),
            None => self.separate(Next::Any),
        }
    }

    pub(super) fn new_line(&mut self) -> Result<(), Unsure> {
        self.target_is_there()?;
        if let Some(head) = self.head() {
            return self.go_on_with(head.new_line()?);
        }
        self.next = self.next.after_line()?;
        Ok(())
    }

    /// Takes `|`, and returns whether it stands between patterns.
    pub(super) fn takes_alternative(&mut self) -> bool {
        let is_pattern = self.head() == Some(Head::AfterPattern);
        is_pattern && self.go_on_with(Head::Alternative).is_ok()
    }

    /// Takes an operator of a redirection, whose target is the next word.
    pub(super) fn redirect(&mut self) -> Result<(), Unsure> {
        self.redirect_here()?;
        self.needs_target = true;
        Ok(())
    }

    /// Takes a redirection from a here-document.
    pub(super) fn redirect_here(&mut self) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.head().is_some() {
            return Err(Unsure);
        }
        self.next = self.next.after_redirection()?;
        Ok(())
    }

    pub(super) fn open_parenthesis(&mut self) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.head() == Some(Head::Pattern) {
            return self.go_on_with(Head::Alternative);
        }
        self.begin(Open::Parenthesis)
    }

    pub(super) fn close_parenthesis(&mut self) -> Result<(), Unsure> {
        if self.head() == Some(Head::AfterPattern) {
            self.next = Next::Any;
            return self.replace(Open::Head(Head::AfterPattern), Open::Clause);
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
        self.ends_here()?;
        self.next = Next::Argument;
        self.replace(Open::Clause, Open::Head(Head::Pattern))
    }

    /// Takes `((…))`, which two semicolons have to be in after `for`.
    pub(super) fn end_calculation(&mut self, semicolons: usize) -> Result<(), Unsure> {
        self.target_is_there()?;
        if self.head().is_some() {
            if semicolons != 2 {
                return Err(Unsure);
            }
            return self.go_on_with(Head::AfterCalculation);
        }
        self.next = Next::Operator;
        Ok(())
    }

    /// Takes a word, and returns whether it is a `[[` that begins a condition.
    pub(super) fn word(&mut self, word: &[u8]) -> Result<bool, Unsure> {
        if std::mem::take(&mut self.needs_target) {
            return Ok(false);
        }
        if let Some(head) = self.head() {
            match head.word(word)? {
                Step::Head(next) => self.go_on_with(next)?,
                Step::Do => self.go_on(Open::Head(head), Open::Do)?,
                Step::Esac => self.close(Open::Head(head))?,
            }
            return Ok(false);
        }
        match self.next {
            Next::AfterName => self.next = Next::Argument,
            Next::Assignment if !is_assignment(word) => self.next = Next::Argument,
            Next::Assignment | Next::Declaration | Next::Argument => {}
            Next::Name if is_name(word) => self.next = Next::Named,
            Next::Name | Next::Redirected => return Err(Unsure),
            _ => {
                let is_reserved = self.reserved_word(word)?;
                return if is_reserved {
                    Ok(false)
                } else {
                    self.first_word(word)
                };
            }
        }
        Ok(false)
    }

    pub(super) fn finish(self) -> Result<(), Unsure> {
        self.ends_here()?;
        self.open.is_empty().then_some(()).ok_or(Unsure)
    }

    /// Takes the word with which a command begins.
    fn first_word(&mut self, word: &[u8]) -> Result<bool, Unsure> {
        if let b"select" | b"[[" | b"function" = word {
            of_bash(self.shell)?;
        }
        match word {
            b"{" => self.begin(Open::Brace)?,
            b"if" => self.begin(Open::If)?,
            b"while" | b"until" => self.begin(Open::Loop)?,
            b"for" | b"select" => self.begin(Open::Head(Head::For))?,
            b"case" => self.begin(Open::Head(Head::Case))?,
            b"[[" if self.begins_command() => {
                self.next = Next::Operator;
                return Ok(true);
            }
            _ if matches!(self.next, Next::Named | Next::Body | Next::Operator) => {
                return Err(Unsure);
            }
            b"function" => self.next = Next::Name,
            b"!" if matches!(self.next, Next::Piped | Next::SameLine) => return Err(Unsure),
            b"!" | b"time" if self.next == Next::PipedLine => return Err(Unsure),
            b"!" => self.next = Next::SameLine,
            // What follows is a pipe to bash, and words to other shells, which is the same unless a compound command begins.
            b"time" if self.shell == Shell::Sh => self.next = Next::Argument,
            b"time" if self.next != Next::Piped => self.next = Next::SameLine,
            // A coprocess is of use only to the shell that starts it, and ends with it; `in` is an error.
            b"coproc" | b"in" => return Err(Unsure),
            _ => self.next = Next::after_first(word),
        }
        Ok(false)
    }

    /// Takes a word that goes on with a compound command or ends it, and returns whether it is one.
    fn reserved_word(&mut self, word: &[u8]) -> Result<bool, Unsure> {
        match word {
            b"then" => self.go_on(Open::If, Open::Then)?,
            b"elif" => self.go_on(Open::Then, Open::If)?,
            b"else" => self.go_on(Open::Then, Open::Else)?,
            b"fi" if self.open.last() == Some(&Open::Else) => self.close(Open::Else)?,
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

    fn begins_command(&self) -> bool {
        (self.next.needs_more() || self.next == Next::Any) && self.head().is_none()
    }

    fn head(&self) -> Option<Head> {
        match self.open.last() {
            Some(Open::Head(head)) => Some(*head),
            _ => None,
        }
    }

    fn begin(&mut self, open: Open) -> Result<(), Unsure> {
        if !self.begins_command() {
            return Err(Unsure);
        }
        self.open.push(open);
        self.next = Next::Command;
        Ok(())
    }

    fn go_on(&mut self, old: Open, new: Open) -> Result<(), Unsure> {
        self.ends_here()?;
        self.next = Next::Command;
        self.replace(old, new)
    }

    fn go_on_with(&mut self, head: Head) -> Result<(), Unsure> {
        self.open.pop();
        self.open.push(Open::Head(head));
        Ok(())
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

    /// Fails if something has to follow.
    fn ends_here(&self) -> Result<(), Unsure> {
        if self.next.needs_more() && self.head().is_none() {
            Err(Unsure)
        } else {
            self.target_is_there()
        }
    }

    fn target_is_there(&self) -> Result<(), Unsure> {
        (!self.needs_target).then_some(()).ok_or(Unsure)
    }
}
