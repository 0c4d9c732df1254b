//! Conditions of bash: `[[ … ]]`.

use super::{Lexer, Unsure};

impl<'a> Lexer<'a> {
    /// Goes past the rest of `[[ … ]]`, in which `&&`, `<` and parentheses are no operators of the shell.
    pub(super) fn condition(&mut self) -> Result<(), Unsure> {
        let mut open = 0_usize;
        loop {
            open += self.before_term()?;
            self.term()?;
            self.skip_blanks()?;
            while self.takes(")") {
                open = open.checked_sub(1).ok_or(Unsure)?;
                self.skip_blanks()?;
            }
            if !self.takes("&&") && !self.takes("||") {
                break if open == 0 && self.next_word()? == b"]]" {
                    Ok(())
                } else {
                    Err(Unsure)
                };
            }
        }
    }

    /// Goes past what may stand before a test, and returns how many parentheses that opens.
    fn before_term(&mut self) -> Result<usize, Unsure> {
        let mut open = 0;
        loop {
            self.skip_blanks()?;
            if self.takes("(") {
                open += 1;
            } else if !self.takes("\n") && !self.takes("! ") {
                return Ok(open);
            }
        }
    }

    /// Goes past a test: of one word, or between two.
    fn term(&mut self) -> Result<(), Unsure> {
        let first = self.operand()?;
        if first == b"!" {
            return Err(Unsure);
        }
        if is_unary(first) {
            return self.operand().map(drop);
        }
        self.skip_blanks()?;
        let compares = !self.sees("<(") && !self.sees(">(") && (self.takes("<") || self.takes(">"));
        // A number would belong to a redirection.
        if compares && first.iter().all(u8::is_ascii_digit) {
            return Err(Unsure);
        }
        if compares {
            return self.operand().map(drop);
        }
        let after_first = self.at;
        match self.next_word()? {
            b"=~" => self.regular_expression(),
            operator if is_binary(operator) => self.operand().map(drop),
            _ => {
                self.at = after_first;
                Ok(())
            }
        }
    }

    fn next_word(&mut self) -> Result<&'a [u8], Unsure> {
        self.skip_blanks()?;
        let start = self.at;
        self.word()?;
        Ok(self.since(start))
    }

    /// Goes past a word that has to be there.
    fn operand(&mut self) -> Result<&'a [u8], Unsure> {
        match self.next_word()? {
            b"" | b"]]" | [b'#', ..] => Err(Unsure),
            word => Ok(word),
        }
    }

    /// Goes past a regular expression, in which parentheses and `|` are part of the word.
    fn regular_expression(&mut self) -> Result<(), Unsure> {
        self.skip_blanks()?;
        let start = self.at;
        let mut open = 0_usize;
        while let Some(byte) = self.peek()? {
            match byte {
                b' ' | b'\t' | b'\n' if open == 0 => break,
                b'(' => {
                    self.at += 1;
                    open += 1;
                }
                b')' if open > 0 => {
                    self.at += 1;
                    open -= 1;
                }
                b'|' if !self.sees("||") => self.at += 1,
                b' ' | b'\t' | b'\n' | b'|' | b')' | b'<' | b'>' | b'&' | b';' => {
                    return Err(Unsure);
                }
                b'\'' => self.single_quoted()?,
                _ => self.special(false)?,
            }
        }
        match self.since(start) {
            b"" | b"]]" | [b'#', ..] => Err(Unsure),
            _ => Ok(()),
        }
    }
}

fn is_unary(word: &[u8]) -> bool {
    matches!(word, [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter))
}

fn is_binary(word: &[u8]) -> bool {
    matches!(
        word,
        b"=" | b"=="
            | b"!="
            | b"-nt"
            | b"-ot"
            | b"-ef"
            | b"-eq"
            | b"-ne"
            | b"-lt"
            | b"-le"
            | b"-gt"
            | b"-ge"
    )
}
