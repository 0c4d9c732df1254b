//! Text that knows which raw bytes each part of it came from.

/// Cleaned text, and where it came from. The raw bytes of its lines follow one another; within a line that was written over,
/// they may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    parts: Vec<Part>,
    /// The offset of the first raw byte in the whole output.
    start: u64,
    /// The offset after the last raw byte.
    end: u64,
    /// How many stretches of raw bytes were no UTF-8.
    pub(crate) encoding_errors: u64,
    /// How many characters without ink were written by their numbers.
    pub(crate) escaped: u64,
}

/// A part of the text. If both lengths are the same, so are the bytes; else it is one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    text: usize,
    /// Counted from the start of the text.
    raw_start: usize,
    raw: usize,
}

impl Part {
    fn is_plain(&self) -> bool {
        self.text == self.raw
    }

    fn raw_end(&self) -> usize {
        self.raw_start + self.raw
    }
}

impl Text {
    /// Makes a text of raw bytes of which the first and the one after the last have these offsets in the whole output.
    pub(crate) fn new(start: u64, length: usize) -> Self {
        Self {
            text: String::with_capacity(length),
            parts: Vec::new(),
            start,
            end: start + length as u64,
            encoding_errors: 0,
            escaped: 0,
        }
    }

    /// Adds text that is the same in the raw bytes, from this one on.
    pub(crate) fn push_plain(&mut self, text: &str, raw_start: usize) {
        self.push(text, raw_start, text.len());
    }

    /// Adds characters that are the same in the raw bytes, from this one on.
    pub(crate) fn push_plain_chars(&mut self, chars: impl Iterator<Item = char>, raw_start: usize) {
        let before = self.text.len();
        self.text.extend(chars);
        let length = self.text.len() - before;
        self.note(length, raw_start, length);
    }

    /// Returns how much there is, to come back to.
    pub(crate) fn mark(&self) -> (usize, usize, Option<usize>) {
        let last = self.parts.last().map(|part| part.text);
        (self.text.len(), self.parts.len(), last)
    }

    /// Goes back to what there was.
    pub(crate) fn truncate(&mut self, (text, parts, last): (usize, usize, Option<usize>)) {
        self.text.truncate(text);
        self.parts.truncate(parts);
        if let (Some(part), Some(length)) = (self.parts.last_mut(), last)
            && part.text != length
        {
            // It was plain, or nothing could have been added to it.
            (part.text, part.raw) = (length, length);
        }
    }

    /// Adds a character that stands for this many raw bytes.
    pub(crate) fn push_char(&mut self, char: char, raw_start: usize, raw: usize) {
        self.push(char.encode_utf8(&mut [0; 4]), raw_start, raw);
    }

    fn push(&mut self, text: &str, raw_start: usize, raw: usize) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        self.note(text.len(), raw_start, raw);
    }

    fn note(&mut self, text: usize, raw_start: usize, raw: usize) {
        let part = Part {
            text,
            raw_start,
            raw,
        };
        match self.parts.last_mut() {
            Some(last) if last.is_plain() && part.is_plain() && last.raw_end() == raw_start => {
                last.text += part.text;
                last.raw += part.raw;
            }
            _ => self.parts.push(part),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// Returns the offset in the whole output from which on there is everything that this position cuts off: each raw byte of
    /// the text after it is there, or later.
    pub(crate) fn raw_after(&self, position: usize) -> u64 {
        if position == 0 {
            return self.start;
        }
        let after = self.parts_from(position);
        let first = after.map(|part| part.raw_start).min();
        first.map_or(self.end, |first| self.start + first as u64)
    }

    /// Returns the offset in the whole output up to which there is everything that this position cuts off: each raw byte of
    /// the text before it is before that.
    pub(crate) fn raw_before(&self, position: usize) -> u64 {
        if position >= self.text.len() {
            return self.end;
        }
        let last = self.parts_up_to(position).map(|part| part.raw_end()).max();
        last.map_or(self.start, |last| self.start + last as u64)
    }

    /// Returns how many raw bytes the text between two positions is made of.
    pub(crate) fn raw_between(&self, from: usize, to: usize) -> u64 {
        let up_to = |position| -> usize { self.parts_up_to(position).map(|part| part.raw).sum() };
        up_to(to).saturating_sub(up_to(from)) as u64
    }

    fn parts_up_to(&self, position: usize) -> impl Iterator<Item = Part> {
        let mut left = position;
        self.parts.iter().map_while(move |part| {
            let text = left.min(part.text);
            left -= text;
            (text > 0).then(|| Part {
                text,
                raw: if part.is_plain() { text } else { part.raw },
                ..*part
            })
        })
    }

    fn parts_from(&self, position: usize) -> impl Iterator<Item = Part> {
        let mut skip = position;
        self.parts.iter().filter_map(move |part| {
            let skipped = skip.min(part.text);
            skip -= skipped;
            let raw = if part.is_plain() { skipped } else { 0 };
            (skipped < part.text).then(|| Part {
                text: part.text - skipped,
                raw_start: part.raw_start + raw,
                raw: part.raw - raw,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "abXcd" of the raw bytes "ab", one error of two bytes, an escape sequence of three, and "dc" that was written over as
    /// "cd".
    fn text() -> Text {
        let mut text = Text::new(10, 9);
        text.push_plain("a", 0);
        text.push_plain("b", 1);
        text.push_char('\u{FFFD}', 2, 2);
        text.push_plain("c", 8);
        text.push_plain("d", 7);
        text
    }

    #[test]
    fn joins_what_belongs_together() {
        assert_eq!(text().parts.len(), 4);
        assert_eq!(text().as_str(), "ab\u{FFFD}cd");
    }

    #[test]
    fn knows_what_a_cut_leaves_out() {
        let text = text();
        let after = [0, 1, 2, 5, 6, 7].map(|position| text.raw_after(position));
        assert_eq!(after, [10, 11, 12, 17, 17, 19]);
        let before = [0, 1, 2, 5, 6, 7].map(|position| text.raw_before(position));
        assert_eq!(before, [10, 11, 12, 14, 19, 19]);
    }

    #[test]
    fn counts_raw_bytes_between_positions() {
        assert_eq!(text().raw_between(1, 5), 3);
        assert_eq!(text().raw_between(0, 7), 6);
        assert_eq!(text().raw_between(2, 2), 0);
    }
}
