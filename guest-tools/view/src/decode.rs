//! From raw bytes to text that knows where each part of it came from.

use std::str;

/// Text, and the raw bytes that each part of it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    text: String,
    spans: Vec<Span>,
    /// The offset of the first raw byte in the whole output.
    start: u64,
}

/// A part of the text. If both lengths are the same, so are the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    text: usize,
    raw: usize,
}

impl Text {
    /// Decodes bytes, of which the first is at this offset of the whole output.
    pub(crate) fn decode(bytes: &[u8], start: u64) -> Self {
        let mut this = Self {
            text: String::with_capacity(bytes.len()),
            spans: Vec::new(),
            start,
        };
        for chunk in bytes.utf8_chunks() {
            this.push(chunk.valid(), chunk.valid().len());
            if !chunk.invalid().is_empty() {
                this.push("\u{FFFD}", chunk.invalid().len());
            }
        }
        this
    }

    /// Decodes bytes after which others are missing: a character that began is dropped.
    pub(crate) fn decode_cut_at_end(bytes: &[u8], start: u64) -> Self {
        let (whole, _) = bytes.split_at(bytes.len() - cut_at_end(bytes));
        Self::decode(whole, start)
    }

    /// Decodes bytes before which others are missing: the end of a character that began there is dropped.
    pub(crate) fn decode_cut_at_start(bytes: &[u8], start: u64) -> Self {
        let dropped = cut_at_start(bytes);
        let (_, whole) = bytes.split_at(dropped);
        Self::decode(whole, start + dropped as u64)
    }

    fn push(&mut self, text: &str, raw: usize) {
        self.text.push_str(text);
        self.spans.push(Span {
            text: text.len(),
            raw,
        });
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// Returns the offset in the whole output of what this position of the text stands for.
    pub(crate) fn raw_offset(&self, position: usize) -> u64 {
        let (mut text, mut raw) = (0, 0);
        for span in &self.spans {
            if position < text + span.text {
                if span.text == span.raw {
                    raw += position - text;
                }
                break;
            }
            text += span.text;
            raw += span.raw;
        }
        self.start + raw as u64
    }
}

/// Returns how many bytes at the start can be the end of a character.
pub(crate) fn cut_at_start(bytes: &[u8]) -> usize {
    let is_continuation = |byte: &&u8| (0x80..0xC0).contains(*byte);
    bytes.iter().take(3).take_while(is_continuation).count()
}

/// Returns how many bytes at the end are the beginning of a character.
pub(crate) fn cut_at_end(bytes: &[u8]) -> usize {
    let begins = |length: &usize| {
        let end = bytes
            .len()
            .checked_sub(*length)
            .and_then(|at| bytes.get(at..))
            .unwrap_or_default();
        str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3).find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_where_text_came_from() {
        let text = Text::decode(b"ab\xFF\xF0\x9Fc\xE2\x98\x83d", 10);
        assert_eq!(text.as_str(), "ab\u{FFFD}\u{FFFD}c☃d");
        let offsets: Vec<_> = text
            .as_str()
            .char_indices()
            .map(|(position, _)| text.raw_offset(position))
            .collect();
        assert_eq!(offsets, [10, 11, 12, 13, 15, 16, 19]);
        assert_eq!(text.raw_offset(text.as_str().len()), 20);
    }

    #[test]
    fn drops_what_an_edge_cut_in_two() {
        for cut in 1..3 {
            let (head, tail) = "ab☃".as_bytes().split_at(2 + cut);
            assert_eq!(Text::decode_cut_at_end(head, 0).as_str(), "ab");
            let text = Text::decode_cut_at_start(tail, 7);
            assert_eq!(
                (text.as_str(), text.raw_offset(0)),
                ("", 7 + tail.len() as u64)
            );
        }
        assert_eq!(Text::decode_cut_at_end(b"a\xFF", 0).as_str(), "a\u{FFFD}");
        assert_eq!(cut_at_end("☃".as_bytes()), 0);
    }
}
