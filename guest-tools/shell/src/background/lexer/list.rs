//! Lists of commands: operators, redirections, here-documents, and what stands between them.

use super::grammar::{Grammar, Next, Open};
use super::{Ampersand, Facts, Lexer, Unsure};

/// What is known while a list is read.
#[derive(Debug)]
struct List {
    grammar: Grammar,
    /// Whether the last word was `for`.
    after_for: bool,
    here_documents: Vec<HereDocument>,
    /// The end of the last token.
    end: usize,
    facts: Facts,
}

/// A here-document whose body has not begun.
#[derive(Debug)]
struct HereDocument {
    delimiter: Vec<u8>,
    strips_tabs: bool,
}

impl Lexer<'_> {
    /// Reads a list of commands up to the end, or if it is `enclosed` up to and with the `)` that closes it.
    pub(super) fn list(&mut self, enclosed: bool) -> Result<Facts, Unsure> {
        let mut list = List {
            grammar: Grammar::new(),
            after_for: false,
            here_documents: Vec::new(),
            end: self.at,
            facts: Facts {
                trailing: None,
                plain: true,
            },
        };
        loop {
            self.skip_blanks()?;
            match self.peek()? {
                None if enclosed => return Err(Unsure),
                None => return list.finish(),
                Some(b'\n') => self.new_line(&mut list)?,
                Some(b'#') => self.rest_of_line()?,
                Some(b')') if enclosed && list.grammar.is_top_level() => {
                    self.at += 1;
                    return list.finish();
                }
                Some(byte) => {
                    list.facts.trailing = None;
                    self.token(byte, &mut list)?;
                    list.end = self.at;
                }
            }
        }
    }

    fn token(&mut self, byte: u8, list: &mut List) -> Result<(), Unsure> {
        let after_for = std::mem::take(&mut list.after_for);
        match byte {
            b';' | b'&' | b'|' if !self.sees("&>") => self.operator(list),
            b'&' | b'<' | b'>' if !self.sees("<(") && !self.sees(">(") => self.redirection(list),
            b'(' => self.opening(list, after_for),
            b')' => {
                self.at += 1;
                list.grammar.close_parenthesis()
            }
            _ => {
                let start = self.at;
                self.word()?;
                let word = self.since(start);
                // The number of a descriptor belongs to the redirection.
                if word.iter().all(u8::is_ascii_digit) && matches!(self.peek()?, Some(b'<' | b'>'))
                {
                    return Ok(());
                }
                list.after_for = word == b"for";
                if list.grammar.word(word)? {
                    self.condition()
                } else {
                    Ok(())
                }
            }
        }
    }

    fn operator(&mut self, list: &mut List) -> Result<(), Unsure> {
        let start = self.at;
        if self.takes(";;&") || self.takes(";;") || self.takes(";&") {
            return list.grammar.end_clause();
        }
        if self.takes("&&") || self.takes("||") {
            return list.grammar.separate(Next::Command);
        }
        if self.takes(";") {
            return list.grammar.separate(Next::Any);
        }
        if self.takes("|&") || self.takes("|") {
            if list.grammar.is_in(Open::Pattern) {
                return Ok(());
            }
            list.facts.plain = false;
            return list.grammar.separate(Next::Command);
        }
        self.takes("&");
        list.grammar.separate(Next::Any)?;
        if list.grammar.is_top_level() {
            list.facts.trailing = Some(Ampersand {
                after_command: list.end,
                at: start,
                before_bodies: false,
            });
        }
        Ok(())
    }

    fn redirection(&mut self, list: &mut List) -> Result<(), Unsure> {
        list.facts.plain = false;
        if !self.sees("<<") || self.sees("<<<") {
            const OPERATORS: [&str; 10] =
                ["<<<", "&>>", "&>", "<&", "<>", ">>", ">&", ">|", "<", ">"];
            let _ = OPERATORS.iter().any(|operator| self.takes(operator));
            return list.grammar.redirect();
        }
        self.takes("<<");
        let strips_tabs = self.takes("-");
        self.skip_blanks()?;
        let start = self.at;
        self.word()?;
        let word = self.since(start);
        if word.is_empty() || word.iter().any(|byte| matches!(byte, b'$' | b'`')) {
            return Err(Unsure);
        }
        let delimiter = word
            .iter()
            .copied()
            .filter(|byte| !matches!(byte, b'\'' | b'"' | b'\\'))
            .collect();
        list.here_documents.push(HereDocument {
            delimiter,
            strips_tabs,
        });
        Ok(())
    }

    fn opening(&mut self, list: &mut List, after_for: bool) -> Result<(), Unsure> {
        let begins_command = list.grammar.begins_command();
        if self.sees("((") && (after_for || begins_command) && self.arithmetic()? {
            return list.grammar.end_compound();
        }
        self.at += 1;
        if begins_command || list.grammar.is_in(Open::Pattern) {
            return list.grammar.open_parenthesis();
        }
        // After the name of a function.
        self.skip_blanks()?;
        if self.takes(")") {
            list.grammar.begin_function()
        } else {
            Err(Unsure)
        }
    }

    /// Goes past the rest of `[[ … ]]`, in which `&&`, `<` and parentheses are no operators of the shell.
    fn condition(&mut self) -> Result<(), Unsure> {
        loop {
            self.skip_blanks()?;
            let start = self.at;
            self.word()?;
            match self.since(start) {
                b"]]" => return Ok(()),
                b"" if self.peek()?.is_none() => return Err(Unsure),
                b"" => self.at += 1,
                _ => {}
            }
        }
    }

    /// Goes past a line feed and the bodies of the here-documents that the line named.
    fn new_line(&mut self, list: &mut List) -> Result<(), Unsure> {
        self.at += 1;
        list.grammar.new_line()?;
        for document in std::mem::take(&mut list.here_documents) {
            self.body(&document)?;
            if let Some(ampersand) = &mut list.facts.trailing {
                ampersand.before_bodies = true;
            }
        }
        Ok(())
    }

    fn body(&mut self, document: &HereDocument) -> Result<(), Unsure> {
        loop {
            let start = self.at;
            self.rest_of_line()?;
            let mut line = self.since(start);
            while let (true, [b'\t', rest @ ..]) = (document.strips_tabs, line) {
                line = rest;
            }
            let goes_on = self.takes("\n");
            if line == document.delimiter {
                return Ok(());
            }
            if !goes_on {
                return Err(Unsure);
            }
        }
    }

    fn rest_of_line(&mut self) -> Result<(), Unsure> {
        while self.peek()?.is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        Ok(())
    }
}

impl List {
    /// Returns what is known, unless something is missing.
    fn finish(self) -> Result<Facts, Unsure> {
        self.grammar.finish()?;
        if self.here_documents.is_empty() {
            Ok(self.facts)
        } else {
            Err(Unsure)
        }
    }
}
