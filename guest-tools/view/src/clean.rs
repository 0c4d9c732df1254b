//! From raw bytes to text: decoded, without control sequences, and with what was written over resolved per line.
//!
//! A line is what a terminal of endless width shows of it in the end. What moves between lines is dropped, as are characters
//! that nobody sees: they serve to hide instructions from people.

mod line;
mod sequence;

use crate::text::Text;
use line::Line;
use sequence::{Effect, Parser};

/// What a byte may be, as sets of bits.
const CONTROL: u8 = 1;
const WIDE: u8 = 2;

fn kind(byte: u8) -> u8 {
    match byte {
        b'\t' | 0x20..=0x7E => 0,
        0x80.. => WIDE,
        _ => CONTROL,
    }
}

/// Cleans bytes, of which the first has this offset in the whole output.
pub(crate) fn clean(bytes: &[u8], start: u64) -> Text {
    let mut cleaner = Cleaner {
        text: Text::new(start, bytes.len()),
        line: Line::default(),
        parser: Parser::default(),
    };
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        cleaner.line(line, at);
        at += line.len();
    }
    cleaner.text
}

/// Returns how many bytes at the end are a control sequence that is not complete.
pub(crate) fn cut_at_end(bytes: &[u8]) -> usize {
    let line = bytes.rsplit(|&byte| byte == b'\n').next();
    let line = line.unwrap_or_default();
    let mut parser = Parser::default();
    let begun = line.iter().rposition(|&byte| byte == sequence::ESCAPE);
    let Some(sequence) = begun.and_then(|begun| line.get(begun..)) else {
        return 0;
    };
    let is_complete = sequence
        .iter()
        .any(|&byte| parser.advance(&[byte]).is_some());
    if is_complete { 0 } else { sequence.len() }
}

struct Cleaner {
    text: Text,
    line: Line,
    parser: Parser,
}

impl Cleaner {
    fn line(&mut self, line: &[u8], start: usize) {
        let (content, end) = match line {
            [content @ .., b'\r', b'\n'] => (content, "\n"),
            [content @ .., b'\n'] => (content, "\n"),
            content => (content, ""),
        };
        let kinds = content.iter().fold(0, |kinds, &byte| kinds | kind(byte));
        let plain = (kinds & CONTROL == 0).then(|| std::str::from_utf8(content).ok());
        match plain.flatten() {
            Some(plain) if kinds & WIDE == 0 || !plain.contains(is_hidden) => {
                self.text.push_plain(plain, start);
            }
            _ => {
                self.written(content, start);
                self.line.flush(&mut self.text);
            }
        }
        self.text.push_plain(end, start + line.len() - end.len());
    }

    /// Writes the bytes of a line as a terminal does.
    fn written(&mut self, bytes: &[u8], start: usize) {
        let mut at = start;
        // Where the control sequence that is being read begins.
        let mut sequence = None;
        for chunk in bytes.utf8_chunks() {
            for char in chunk.valid().chars() {
                self.char(char, at, &mut sequence);
                at += char.len_utf8();
            }
            let invalid = chunk.invalid().len();
            if invalid > 0 {
                self.text.encoding_errors += 1;
                // A control sequence is all ASCII, or goes by whole.
                if sequence.is_none() {
                    self.line.put(char::REPLACEMENT_CHARACTER, at, invalid);
                }
                at += invalid;
            }
        }
        // A text for the terminal, such as a title, has no end in this line: then it is taken for what it looks like, so that
        // nothing is hidden by it.
        if let Some(sequence) = sequence {
            self.parser = Parser::default();
            let begun = bytes.get(sequence - start..).unwrap_or_default();
            if let Some(rest) = sequence::without_introducer(begun) {
                self.written(rest, start + bytes.len() - rest.len());
            }
        }
    }

    fn char(&mut self, char: char, at: usize, sequence: &mut Option<usize>) {
        if char == '\x1B' {
            *sequence = Some(at);
        }
        if sequence.is_some() {
            match self
                .parser
                .advance(char.encode_utf8(&mut [0; 4]).as_bytes())
            {
                None => return,
                Some(Effect::Control) => {}
                Some(Effect::Print) => *sequence = None,
                Some(effect) => {
                    *sequence = None;
                    return self.line.apply(effect);
                }
            }
        }
        match char {
            '\r' => self.line.apply(Effect::Column(0)),
            '\x08' => self.line.apply(Effect::Left(1)),
            '\t' => self.line.put(char, at, 1),
            _ if char.is_control() || is_hidden(char) => {}
            _ => self.line.put(char, at, char.len_utf8()),
        }
    }
}

/// Returns whether nobody sees a character: it controls, or says in which direction others run, or is a tag. The joiners that
/// words and emoji are made with are none of these.
fn is_hidden(char: char) -> bool {
    matches!(char,
        '\u{80}'..='\u{9F}'
        | '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests;
