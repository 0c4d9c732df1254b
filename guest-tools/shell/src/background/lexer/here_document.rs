//! Here-documents.

use super::{Lexer, Unsure};

/// A here-document whose body has not begun.
#[derive(Debug)]
pub(super) struct HereDocument {
    delimiter: Vec<u8>,
    strips_tabs: bool,
    /// Whether the delimiter is quoted, so that nothing in the body is substituted.
    is_literal: bool,
}

impl Lexer<'_> {
    /// Goes past `<<` and the delimiter of a here-document.
    pub(super) fn here_document(&mut self) -> Result<HereDocument, Unsure> {
        self.takes("<<");
        let strips_tabs = self.takes("-");
        self.skip_blanks()?;
        let start = self.at;
        self.word()?;
        let word = self.since(start);
        let unquoted = match word {
            [b'\'', inside @ .., b'\''] | [b'"', inside @ .., b'"'] | [b'\\', inside @ ..] => {
                inside
            }
            _ => word,
        };
        // Shells do not agree on what else a delimiter may be made of.
        let is_hard = |byte: &u8| b"'\"\\$`<>()\n#".contains(byte);
        if unquoted.is_empty() || unquoted.iter().any(is_hard) {
            return Err(Unsure);
        }
        Ok(HereDocument {
            delimiter: unquoted.to_vec(),
            strips_tabs,
            is_literal: unquoted.len() < word.len(),
        })
    }

    /// Goes past the body of a here-document and its delimiter.
    pub(super) fn body(&mut self, document: &HereDocument) -> Result<(), Unsure> {
        let body = self.at;
        let mut is_continued = false;
        loop {
            let start = self.at;
            self.rest_of_line()?;
            let mut line = self.since(start);
            while let (true, [b'\t', rest @ ..]) = (document.strips_tabs, line) {
                line = rest;
            }
            let goes_on = self.takes("\n");
            if line == document.delimiter && !is_continued {
                let body = self.text.get(body..start).unwrap_or_default();
                return if document.is_literal {
                    Ok(())
                } else {
                    self.within(body, |inner| inner.substitutions())
                };
            }
            let backslashes = line.iter().rev().take_while(|byte| **byte == b'\\').count();
            let continues = !document.is_literal && backslashes % 2 == 1;
            // What a backslash joins may be the delimiter, or may not be, as it would be alone.
            let joins_delimiter = continues
                && line
                    .split_last()
                    .is_some_and(|(_, kept)| document.delimiter.starts_with(kept));
            if !goes_on || joins_delimiter || line == document.delimiter {
                return Err(Unsure);
            }
            is_continued = continues;
        }
    }

    /// Goes past a text in which quotes have no meaning, but substitutions do.
    fn substitutions(&mut self) -> Result<(), Unsure> {
        while let Some(byte) = self.peek()? {
            match byte {
                b'"' => self.at += 1,
                _ => self.special(true)?,
            }
        }
        Ok(())
    }
}
