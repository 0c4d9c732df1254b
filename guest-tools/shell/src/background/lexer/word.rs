//! Words: everything between blanks and operators, with what is quoted and substituted in them.

use super::{Lexer, Unsure};

impl Lexer<'_> {
    /// Goes past a word. It may be empty, where an operator stands.
    pub(super) fn word(&mut self) -> Result<(), Unsure> {
        let start = self.at;
        while let Some(byte) = self.peek()? {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if !self.sees("<(") && !self.sees(">(") => break,
                b'<' | b'>' => self.substitution()?,
                b'(' => match self.since(start).last() {
                    // An array of bash: its elements are words.
                    Some(b'=') => {
                        self.at += 1;
                        self.nested(|this| this.list(true))?;
                    }
                    // A pattern of bash such as `!(a|b)`.
                    Some(b'?' | b'*' | b'+' | b'@' | b'!') => return Err(Unsure),
                    _ => break,
                },
                b'\'' => self.single_quoted()?,
                _ => self.special(false)?,
            }
        }
        Ok(())
    }

    /// Goes past what has a meaning both inside and outside of double quotes, or else past one byte.
    fn special(&mut self, quoted: bool) -> Result<(), Unsure> {
        match self.peek()? {
            // The byte after a backslash, if there is one, has no meaning.
            Some(b'\\') => self.at = (self.at + 2).min(self.text.len()),
            Some(b'"') => self.nested(Self::double_quoted)?,
            Some(b'`') => {
                self.at += 1;
                self.until_unescaped(b'`')?;
            }
            Some(b'$') => self.nested(|this| this.dollar(quoted))?,
            _ => self.at += 1,
        }
        Ok(())
    }

    fn single_quoted(&mut self) -> Result<(), Unsure> {
        self.at += 1;
        while let Some(byte) = self.peek()? {
            self.at += 1;
            if byte == b'\'' {
                return Ok(());
            }
        }
        Err(Unsure)
    }

    fn double_quoted(&mut self) -> Result<(), Unsure> {
        self.at += 1;
        while let Some(byte) = self.peek()? {
            if byte == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.special(true)?;
        }
        Err(Unsure)
    }

    /// Goes past `$` and what it introduces.
    fn dollar(&mut self, quoted: bool) -> Result<(), Unsure> {
        if self.sees("$((") {
            self.at += 1;
            if self.arithmetic()? {
                return Ok(());
            }
            self.at -= 1;
        }
        if self.sees("$(") {
            self.substitution()
        } else if self.takes("${") {
            self.braced(quoted)
        } else if !quoted && self.takes("$'") {
            let start = self.at;
            self.until_unescaped(b'\'')?;
            // A shell that does not know `$'…'` ends the text at `\'`.
            if self.since(start).windows(2).any(|pair| pair == b"\\'") {
                Err(Unsure)
            } else {
                Ok(())
            }
        } else {
            self.at += 1;
            Ok(())
        }
    }

    /// Goes past the rest of `${…}`.
    fn braced(&mut self, quoted: bool) -> Result<(), Unsure> {
        while let Some(byte) = self.peek()? {
            match byte {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\'' if !quoted => self.single_quoted()?,
                _ => self.special(quoted)?,
            }
        }
        Err(Unsure)
    }

    /// Goes past `$(…)`, `<(…)` or `>(…)`.
    fn substitution(&mut self) -> Result<(), Unsure> {
        self.at += 2;
        self.nested(|this| this.list(true))?;
        Ok(())
    }

    /// Goes past `((…))`, or stays and returns false if this is a subshell in a subshell.
    pub(super) fn arithmetic(&mut self) -> Result<bool, Unsure> {
        let start = self.at;
        self.at += 2;
        let mut open = 0_usize;
        while let Some(byte) = self.peek()? {
            match byte {
                b'(' => {
                    self.at += 1;
                    open += 1;
                }
                b')' if open > 0 => {
                    self.at += 1;
                    open -= 1;
                }
                b')' if self.takes("))") => return Ok(true),
                b')' => break,
                b'\'' => self.single_quoted()?,
                _ => self.special(false)?,
            }
        }
        self.at = start;
        Ok(false)
    }

    /// Goes past the next such byte that no backslash stands before.
    fn until_unescaped(&mut self, byte: u8) -> Result<(), Unsure> {
        while let Some(next) = self.peek()? {
            self.at += if next == b'\\' { 2 } else { 1 };
            if next == byte {
                return Ok(());
            }
        }
        Err(Unsure)
    }
}
