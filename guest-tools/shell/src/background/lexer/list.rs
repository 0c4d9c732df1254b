//! Lists of commands: operators, redirections, here-documents, and what stands between them.

use super::grammar::Grammar;
use super::here_document::HereDocument;
use super::next::Next;
use super::word::joined;
use super::{Facts, Lexer, Trailing, Unsure, of_bash, url};
use toolhost_sdk::processes::Shell;

/// What is known while a list is read.
#[derive(Debug)]
struct List {
    grammar: Grammar,
    here_documents: Vec<HereDocument>,
    /// Where the last token begins, and where it ends.
    last: (usize, usize),
    /// Whether the last tokens are what an `&` split off a URL.
    is_split: bool,
    facts: Facts,
}

impl Lexer<'_> {
    /// Reads a list of commands up to the end, or if it is `enclosed` up to and with the `)` that closes it.
    pub(super) fn list(&mut self, enclosed: bool) -> Result<Facts, Unsure> {
        let mut list = List::new(self.at, self.shell);
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
                    // It was not the last token.
                    list.facts.interior |= list.facts.trailing.take().is_some();
                    let start = self.at;
                    self.token(byte, &mut list)?;
                    list.last = (start, self.at);
                    if let (true, Some(split)) = (list.is_split, &mut list.facts.split_url) {
                        split.end = self.at;
                    }
                }
            }
        }
    }

    fn token(&mut self, byte: u8, list: &mut List) -> Result<(), Unsure> {
        match byte {
            b';' | b'&' | b'|' if !self.sees("&>") => {
                list.is_split = false;
                self.operator(list)?;
                self.ends_operator()
            }
            b'&' | b'<' | b'>' if !self.sees("<(") && !self.sees(">(") => {
                self.redirection(list)?;
                self.ends_operator()
            }
            b'(' => {
                self.opening(list)?;
                self.ends_operator()
            }
            b')' => {
                list.is_split = false;
                self.at += 1;
                list.grammar.close_parenthesis()
            }
            _ => self.word_of_list(list),
        }
    }

    fn word_of_list(&mut self, list: &mut List) -> Result<(), Unsure> {
        let start = self.at;
        let may_assign = list.grammar.may_assign();
        let has_array = self.word()?;
        let word = self.since(start);
        if has_array && !may_assign {
            return Err(Unsure);
        }
        // The number of a descriptor belongs to the redirection.
        if word.iter().all(u8::is_ascii_digit) && matches!(self.peek()?, Some(b'<' | b'>')) {
            return Ok(());
        }
        let is_condition = list.grammar.word(&joined(word))?;
        if is_condition {
            self.condition()?;
        }
        // A line feed in there begins the bodies of here-documents, or does not.
        let is_over_lines = (has_array || is_condition) && self.since(start).contains(&b'\n');
        if is_over_lines && !list.here_documents.is_empty() {
            return Err(Unsure);
        }
        Ok(())
    }

    fn operator(&mut self, list: &mut List) -> Result<(), Unsure> {
        let start = self.at;
        if self.takes(";;&") || self.takes(";&") {
            of_bash(self.shell)?;
            return list.grammar.end_clause();
        }
        if self.takes(";;") {
            return list.grammar.end_clause();
        }
        if self.takes("&&") || self.takes("||") {
            return list.grammar.separate(Next::Command);
        }
        if self.takes(";") {
            return list.grammar.semicolon();
        }
        if self.sees("|&") {
            of_bash(self.shell)?;
        }
        if self.takes("|&") || self.takes("|") {
            if self.since(start) == b"|" && list.grammar.takes_alternative() {
                return Ok(());
            }
            list.facts.plain = false;
            return list.grammar.separate(Next::Piped);
        }
        // A lone `&`, perhaps the trailing ampersand of the command.
        self.takes("&");
        list.grammar.separate(Next::Any)?;
        if list.grammar.is_top_level() {
            list.facts.trailing = Some(Trailing {
                after_command: list.last.1,
                at: start,
                before_bodies: false,
            });
        } else {
            list.facts.nested = true;
        }
        if list.facts.split_url.is_none() && list.last.1 == start {
            let before = self.text.get(list.last.0..start).unwrap_or_default();
            list.is_split = url::is_split(before, self.rest());
            list.facts.split_url = list.is_split.then_some(self.at..self.at);
        }
        Ok(())
    }

    /// Fails if a continued line comes between an operator and what may be the rest of it.
    pub(super) fn ends_operator(&mut self) -> Result<(), Unsure> {
        let end = self.at;
        while self.takes("\\\n") {
            self.peek()?;
        }
        let is_continued = self.at > end;
        if is_continued
            && self
                .rest()
                .first()
                .is_some_and(|byte| b"&|;<>-(".contains(byte))
        {
            return Err(Unsure);
        }
        self.at = end;
        Ok(())
    }

    fn redirection(&mut self, list: &mut List) -> Result<(), Unsure> {
        list.facts.plain = false;
        // To other shells, `&>` ends the command.
        if self.sees("&>") || self.sees("<<<") {
            of_bash(self.shell)?;
        }
        if self.sees("<<") && !self.sees("<<<") {
            list.grammar.redirect_here()?;
            let document = self.here_document()?;
            list.here_documents.push(document);
            return Ok(());
        }
        const OPERATORS: [&str; 10] = ["<<<", "&>>", "&>", "<&", "<>", ">>", ">&", ">|", "<", ">"];
        let duplicates = self.sees("<&") || self.sees(">&");
        let _ = OPERATORS.iter().any(|operator| self.takes(operator));
        // To bash, `>&-` is a token that needs no end.
        let is_end = |byte: &u8| b" \t\n;&|)<>".contains(byte);
        if duplicates && self.sees("-") && !self.rest().get(1).is_none_or(is_end) {
            return Err(Unsure);
        }
        list.grammar.redirect()
    }

    fn opening(&mut self, list: &mut List) -> Result<(), Unsure> {
        if self.sees("((")
            && list.grammar.may_calculate()
            && let Some(semicolons) = self.arithmetic()?
        {
            of_bash(self.shell)?;
            return list.grammar.end_calculation(semicolons);
        }
        self.at += 1;
        if !list.grammar.ends_name() {
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

    /// Goes past a line feed and the bodies of the here-documents that the line named.
    fn new_line(&mut self, list: &mut List) -> Result<(), Unsure> {
        self.at += 1;
        list.is_split = false;
        list.grammar.new_line()?;
        for document in std::mem::take(&mut list.here_documents) {
            self.body(&document)?;
            if let Some(ampersand) = &mut list.facts.trailing {
                ampersand.before_bodies = true;
            }
        }
        Ok(())
    }
}

impl List {
    fn new(at: usize, shell: Shell) -> Self {
        Self {
            grammar: Grammar::new(shell),
            here_documents: Vec::new(),
            last: (at, at),
            is_split: false,
            facts: Facts {
                trailing: None,
                interior: false,
                nested: false,
                split_url: None,
                plain: true,
            },
        }
    }

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
