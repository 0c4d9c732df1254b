//! Words: everything between blanks and operators, with what is quoted and substituted in them.

use std::borrow::Cow;

use super::{Lexer, Unsure, of_bash};
use toolhost_sdk::processes::Shell;

impl Lexer<'_> {
    /// Goes past a word, and returns whether it is an array of bash. It may be empty, where an operator stands.
    pub(super) fn word(&mut self) -> Result<bool, Unsure> {
        self.word_or_element(false)
    }

    /// Goes past a word, or an element of an array, which may begin with its index.
    fn word_or_element(&mut self, is_element: bool) -> Result<bool, Unsure> {
        let start = self.at;
        let (mut has_bracket, mut subscripts) = (false, 0_usize);
        while let Some(byte) = self.peek()? {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if !self.sees("<(") && !self.sees(">(") => break,
                b'<' | b'>' => {
                    of_bash(self.shell)?;
                    self.substitution()?;
                }
                b'(' => match self.since(start) {
                    [name @ .., b'+', b'='] | [name @ .., b'='] if is_name(name) => {
                        of_bash(self.shell)?;
                        self.array()?;
                        return Ok(true);
                    }
                    // A pattern of bash such as `!(a|b)`.
                    [.., b'?' | b'*' | b'+' | b'@' | b'!' | b'='] => return Err(Unsure),
                    _ => break,
                },
                b'[' => {
                    let is_subscript =
                        subscripts > 0 || !has_bracket && has_index(self.since(start), is_element);
                    subscripts += usize::from(is_subscript);
                    has_bracket = true;
                    self.at += 1;
                }
                b']' => {
                    subscripts = subscripts.saturating_sub(1);
                    self.at += 1;
                }
                b'\'' => self.single_quoted()?,
                _ => self.special(false)?,
            }
        }
        // To bash, blanks and operators may be part of the subscript of an array.
        if subscripts > 0 {
            Err(Unsure)
        } else {
            Ok(false)
        }
    }

    /// Goes past what has a meaning both inside and outside of double quotes, or else past one byte.
    pub(super) fn special(&mut self, quoted: bool) -> Result<(), Unsure> {
        match self.peek()? {
            // The byte after a backslash, if there is one, has no meaning.
            Some(b'\\') => self.at = (self.at + 2).min(self.text.len()),
            Some(b'"') => self.nested(Self::double_quoted)?,
            Some(b'`') => self.backquoted(quoted)?,
            Some(b'$') => self.nested(|this| this.dollar(quoted))?,
            _ => self.at += 1,
        }
        Ok(())
    }

    pub(super) fn single_quoted(&mut self) -> Result<(), Unsure> {
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

    /// Goes past a substitution in backquotes. A shell takes the backslashes out before it looks at what is inside.
    fn backquoted(&mut self, quoted: bool) -> Result<(), Unsure> {
        self.at += 1;
        let mut inside = Vec::new();
        loop {
            let byte = self.peek()?.ok_or(Unsure)?;
            self.at += 1;
            match (byte, self.rest().first()) {
                (b'`', _) => break,
                (b'\\', Some(b'\\' | b'`' | b'$')) => {}
                (b'\\', Some(b'"')) if quoted => {}
                (b'\\', Some(_)) => inside.push(byte),
                _ => {
                    inside.push(byte);
                    continue;
                }
            }
            inside.extend(self.rest().first());
            self.at += 1;
        }
        let facts = self.within(&inside, |inner| inner.list(false))?;
        self.nested |= facts.has_ampersand();
        Ok(())
    }

    /// Goes past `$` and what it introduces.
    fn dollar(&mut self, quoted: bool) -> Result<(), Unsure> {
        if self.sees("$((") {
            self.at += 1;
            // What begins like this and does not end like it is an error to some shells.
            return self.arithmetic()?.map(drop).ok_or(Unsure);
        }
        // To bash, `$[` begins a calculation. A continued line may hide what this introduces.
        if self.sees("$[") || self.sees("$\\\n") {
            return Err(Unsure);
        }
        if self.sees("$(") {
            self.substitution()
        } else if self.takes("$$") {
            Ok(())
        } else if self.takes("${") {
            self.braced(quoted)
        } else if !quoted && self.takes("$'") {
            self.escaped_quoted()
        } else {
            self.at += 1;
            Ok(())
        }
    }

    /// Goes past the rest of `$'…'`. A shell other than bash may not know it, and end the text at `\'`.
    fn escaped_quoted(&mut self) -> Result<(), Unsure> {
        while let Some(byte) = self.peek()? {
            self.at += if byte == b'\\' { 2 } else { 1 };
            match (byte, self.text.get(self.at - 1)) {
                (b'\\', Some(b'\'')) if self.shell == Shell::Sh => return Err(Unsure),
                (b'\'', _) => return Ok(()),
                _ => {}
            }
        }
        Err(Unsure)
    }

    /// Goes past `$(…)`, `<(…)` or `>(…)`.
    fn substitution(&mut self) -> Result<(), Unsure> {
        self.at += 2;
        self.ends_operator()?;
        self.skip_blanks()?;
        // Bash does not know `time` before a compound command there.
        if ["time ", "time\t", "time\n", "time\\"]
            .iter()
            .any(|time| self.sees(time))
        {
            return Err(Unsure);
        }
        let facts = self.nested(|this| this.list(true))?;
        self.nested |= facts.has_ampersand();
        Ok(())
    }

    /// Goes past the elements of an array of bash, which are words.
    fn array(&mut self) -> Result<(), Unsure> {
        self.at += 1;
        loop {
            self.skip_blanks()?;
            match self.peek()? {
                Some(b'\n') => self.at += 1,
                Some(b'#') => self.rest_of_line()?,
                Some(b')') => break,
                _ => {
                    let start = self.at;
                    let has_array = self.nested(|this| this.word_or_element(true))?;
                    if has_array || self.at == start {
                        return Err(Unsure);
                    }
                }
            }
        }
        self.at += 1;
        match self.peek()? {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') => Ok(()),
            Some(_) => Err(Unsure),
        }
    }

    /// Goes past `((…))` and returns how many `;` are in it, or stays and returns nothing if this is a subshell in a
    /// subshell.
    pub(super) fn arithmetic(&mut self) -> Result<Option<usize>, Unsure> {
        let start = self.at;
        let nested = self.nested;
        self.at += 2;
        let (mut open, mut semicolons) = (0_usize, 0);
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
                b')' if self.takes("))") => return Ok(Some(semicolons)),
                b')' => break,
                b';' => {
                    self.at += 1;
                    semicolons += 1;
                }
                b'\'' => self.single_quoted()?,
                _ => self.special(false)?,
            }
        }
        // Where bash finds out late, and the command is a text of its own, it does not get over a line feed.
        self.at += 3;
        if self.since(start).contains(&b'\n') {
            return Err(Unsure);
        }
        self.at = start;
        self.nested = nested;
        Ok(None)
    }
}

/// Returns whether a variable or a function may have this name in every shell.
pub(super) fn is_name(word: &[u8]) -> bool {
    word.first().is_some_and(|byte| !byte.is_ascii_digit())
        && word
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Returns whether a bracket after this begins an index.
fn has_index(before: &[u8], is_element: bool) -> bool {
    let name = joined(before);
    is_name(&name) || is_element && name.is_empty()
}

/// Returns a word without the ends of lines that it goes on over.
pub(super) fn joined(word: &[u8]) -> Cow<'_, [u8]> {
    if !word.contains(&b'\n') {
        return Cow::Borrowed(word);
    }
    let mut joined = Vec::new();
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        match rest.strip_prefix(b"\\\n") {
            Some(after) => rest = after,
            None => {
                joined.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(joined)
}
