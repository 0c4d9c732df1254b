//! From raw bytes to text: decoded, without control sequences, and with what was written over resolved per line.
//!
//! A line is what a terminal of endless width shows of it in the end. What moves between lines is dropped. Characters that nobody
//! sees are shown by their numbers: they serve to hide instructions from people, and an edit of a text without them fails.

mod line;
mod sequence;

use crate::hidden;
use crate::text::Text;
use line::Line;
use sequence::{Effect, Parser};

/// What bytes are, as sets of bits: most outputs have none of these but line feeds.
const CONTROL: u8 = 1;
const ESCAPE: u8 = 2;
const WIDE: u8 = 4;

/// Returns what a byte is. Without branches, which a compiler can do for many bytes at once.
fn kind(byte: u8) -> u8 {
    let escape = byte == sequence::ESCAPE;
    let control = ((byte < b' ') & (byte != b'\t') & !escape) | (byte == 0x7F);
    let wide = byte >= 0x80;
    (u8::from(control) * CONTROL) | (u8::from(escape) * ESCAPE) | (u8::from(wide) * WIDE)
}

fn kinds(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |kinds, &byte| kinds | kind(byte))
}

/// Returns where the first control character but line feeds and tabs is.
fn first_control(bytes: &[u8]) -> Option<usize> {
    let is_control = |byte: u8| (kind(byte) & (CONTROL | ESCAPE) != 0) & (byte != b'\n');
    let any = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(false, |any, &byte| any | is_control(byte))
    };
    let (index, chunk) = bytes.chunks(64).enumerate().find(|(_, chunk)| any(chunk))?;
    let within = chunk.iter().position(|&byte| is_control(byte))?;
    Some(index * 64 + within)
}

/// The longest control sequence that changes colours, in bytes: two colours of three parts each.
const LONGEST_COLOUR: usize = 40;

/// How many bytes of lines are taken together at most. Where something is wrong with one of them, the rest is looked at again,
/// so that this bounds how often.
const BLOCK: usize = 1024;

/// Cleans bytes, of which the first has this offset in the whole output.
pub(crate) fn clean(bytes: &[u8], start: u64) -> Text {
    let mut cleaner = Cleaner {
        text: Text::new(start, bytes.len()),
        line: Line::new(bytes.len()),
        parser: Parser::default(),
    };
    let mut at = 0;
    let mut control = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if control <= at {
            control = first_control(rest).map_or(bytes.len(), |found| at + found);
        }
        // Lines that nothing can be wrong with are taken together.
        let block = (control - at).min(BLOCK);
        let plain = plain_lines(rest.get(..block).unwrap_or(rest), at + block == bytes.len());
        cleaner.text.push_plain(plain, at);
        at += plain.len();
        let rest = bytes.get(at..).unwrap_or_default();
        let line = memchr::memchr(b'\n', rest).map_or(rest, |end| rest.get(..=end).unwrap_or(rest));
        cleaner.line(line, at);
        at += line.len();
        control = control.max(at);
    }
    cleaner.text
}

/// Returns the lines at the start of bytes without control characters that are text of which all can be seen. The last one
/// counts if it is `complete`.
fn plain_lines(bytes: &[u8], complete: bool) -> &str {
    let valid = match std::str::from_utf8(bytes) {
        Ok(all) if complete && !has_hidden(all) => return all,
        Ok(all) => all,
        Err(error) => std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default())
            .unwrap_or_default(),
    };
    let seen = if valid.is_ascii() {
        valid
    } else {
        valid.get(..first_hidden(valid)).unwrap_or_default()
    };
    let end = memchr::memrchr(b'\n', seen.as_bytes()).map_or(0, |end| end + 1);
    seen.get(..end).unwrap_or_default()
}

fn has_hidden(text: &str) -> bool {
    first_hidden(text) < text.len()
}

/// Returns where the first hidden character of a text without ASCII control characters is, or the length of the text.
fn first_hidden(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let hidden = hidden::find(text).map_or(text.len(), |(at, _)| at);
    text.find(is_c1_control)
        .map_or(hidden, |control| control.min(hidden))
}

fn is_c1_control(char: char) -> bool {
    matches!(char, '\u{80}'..='\u{9F}')
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

/// Returns how many bytes at the start are the rest of a control sequence that changes colours, which only an output that has
/// such sequences `before` begins with.
pub(crate) fn cut_at_start(bytes: &[u8], before: &[u8]) -> usize {
    let parameters = sequence::parameters(bytes.get(..LONGEST_COLOUR).unwrap_or(bytes));
    let is_rest = parameters > 0
        && bytes.get(parameters) == Some(&b'm')
        && memchr::memmem::find(before, b"\x1B[").is_some();
    if is_rest { parameters + 1 } else { 0 }
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
        let kinds = kinds(content);
        let seen = (kinds & CONTROL == 0)
            .then(|| std::str::from_utf8(content).ok())
            .flatten()
            .filter(|text| !has_hidden(text));
        match seen {
            Some(plain) if kinds & ESCAPE == 0 => self.text.push_plain(plain, start),
            Some(coloured) if self.coloured(coloured, start) => {}
            _ => {
                self.written(content, start);
                self.line.flush(&mut self.text);
            }
        }
        self.text.push_plain(end, start + line.len() - end.len());
    }

    /// Takes a line in which control sequences do nothing but change colours. Returns false, and does nothing, if they do more.
    ///
    /// It is no more than what [`Self::written`] does, in a fraction of the time.
    fn coloured(&mut self, line: &str, start: usize) -> bool {
        let before = self.text.mark();
        let mut at = 0;
        let mut escapes =
            memchr::memchr_iter(sequence::ESCAPE, line.as_bytes()).chain([line.len()]);
        let first = escapes.next().unwrap_or_default();
        self.text
            .push_plain(line.get(..first).unwrap_or_default(), start);
        at += first;
        for next in escapes {
            let sequence = line.get(at + 1..next).unwrap_or_default();
            let Some(shown) = sequence::after_colour(sequence) else {
                self.text.truncate(before);
                return false;
            };
            self.text.push_plain(shown, start + next - shown.len());
            at = next;
        }
        true
    }

    /// Writes the bytes of a line as a terminal does.
    fn written(&mut self, bytes: &[u8], start: usize) {
        let mut at = start;
        // Where the control sequence that is being read begins.
        let mut sequence = None;
        if let Ok(valid) = std::str::from_utf8(bytes) {
            self.valid(valid, at, &mut sequence);
        } else {
            for chunk in bytes.utf8_chunks() {
                self.valid(chunk.valid(), at, &mut sequence);
                at += chunk.valid().len();
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
        }
        // A text for the terminal, such as a title, has no end in this line: then it is taken for what it looks like, so that
        // nothing is hidden by it.
        if let Some(sequence) = sequence {
            self.parser = Parser::default();
            let begun = bytes.get(sequence - start..).unwrap_or_default();
            if let Some(rest) = sequence::without_introducer(begun) {
                // They are counted as they are met again.
                let errors = rest
                    .utf8_chunks()
                    .filter(|chunk| !chunk.invalid().is_empty());
                self.text.encoding_errors -= errors.count() as u64;
                self.written(rest, start + bytes.len() - rest.len());
            }
        }
    }

    fn valid(&mut self, text: &str, start: usize, sequence: &mut Option<usize>) {
        let mut rest = text;
        let mut previous = None;
        while !rest.is_empty() {
            let at = start + text.len() - rest.len();
            let printable = |byte: &u8| (b' '..=b'~').contains(byte);
            let run = match sequence {
                None => rest.bytes().take_while(|byte| printable(byte)).count(),
                Some(_) => 0,
            };
            let (shown, after) = rest.split_at(run);
            self.line.put_ascii(shown.as_bytes(), at);
            previous = shown.chars().next_back().or(previous);
            let mut chars = after.chars();
            if let Some(char) = chars.next() {
                let next = chars.clone().next();
                if !hidden::is_hidden(previous, char, next) {
                    self.char(char, at + run, sequence);
                } else if sequence.is_none() {
                    self.escaped(char, at + run);
                }
                previous = Some(char);
            }
            rest = chars.as_str();
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
            ' '..='~' => self.line.put(char, at, 1),
            '\r' => self.line.apply(Effect::Column(0)),
            '\x08' => self.line.apply(Effect::Left(1)),
            '\t' => self.line.put(char, at, 1),
            _ if char.is_control() => self.escaped(char, at),
            _ => self.line.put(char, at, char.len_utf8()),
        }
    }

    /// Writes a character that has no ink by its number.
    fn escaped(&mut self, char: char, at: usize) {
        self.text.escaped += 1;
        let mut shown = String::new();
        hidden::push_escaped(&mut shown, char);
        let mut chars = shown.chars().peekable();
        while let Some(shown) = chars.next() {
            // The last one stands for it.
            let raw = if chars.peek().is_none() {
                char.len_utf8()
            } else {
                0
            };
            self.line.put(shown, at, raw);
        }
    }
}

#[cfg(test)]
mod tests;
