//! Lines of bytes: their text, their ending, and the white space around them.

use bstr::ByteSlice;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Not at all: it is the last one.
    None,
    Lf,
    CrLf,
}

impl Ending {
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// A line, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) ending: Ending,
}

impl<'a> Line<'a> {
    pub(super) const EMPTY: Self = Self {
        text: b"",
        ending: Ending::None,
    };

    /// Returns how many bytes it has with its ending.
    pub(super) fn len(self) -> usize {
        self.text.len() + self.ending.bytes().len()
    }

    /// Returns the white space before its body; all of it if it is blank.
    pub(super) fn lead(self) -> &'a [u8] {
        let (lead, _) = (self.text).split_at(self.text.len() - trim_start(self.text).len());
        lead
    }

    /// Returns what is left of it without the white space around it.
    pub(super) fn body(self) -> &'a [u8] {
        trim(self.text)
    }

    /// Returns the white space after its body; nothing if it is blank.
    pub(super) fn trail(self) -> &'a [u8] {
        let after_lead = trim_start(self.text);
        let (_, trail) = after_lead.split_at(trim_end(after_lead).len());
        trail
    }

    pub(super) fn is_blank(self) -> bool {
        trim_start(self.text).is_empty()
    }
}

/// The lines of a text. A line feed ends a line and begins none, so that an empty text has no lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.0).map_or(self.0.len(), |at| at + 1);
        let (line, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(line_of(line))
    }
}

impl<'a> DoubleEndedIterator for Lines<'a> {
    fn next_back(&mut self) -> Option<Line<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let before = self.0.strip_suffix(b"\n").unwrap_or(self.0);
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let (rest, line) = self.0.split_at(start);
        self.0 = rest;
        Some(line_of(line))
    }
}

fn line_of(bytes: &[u8]) -> Line<'_> {
    let (text, ending) = match bytes {
        [text @ .., b'\r', b'\n'] => (text, Ending::CrLf),
        [text @ .., b'\n'] => (text, Ending::Lf),
        text => (text, Ending::None),
    };
    Line { text, ending }
}

/// Removes blanks and tabs from the end.
#[inline]
pub(super) fn trim_blanks_at_end(mut text: &[u8]) -> &[u8] {
    while let [before @ .., b' ' | b'\t'] = text {
        text = before;
    }
    text
}

/// Removes white space from both ends.
#[inline]
pub(super) fn trim(text: &[u8]) -> &[u8] {
    trim_end(trim_start(text))
}

#[inline]
fn trim_start(text: &[u8]) -> &[u8] {
    // Almost all lines begin with blanks, tabs and a plain character.
    let mut rest = text;
    while let [b' ' | b'\t', after @ ..] = rest {
        rest = after;
    }
    match rest {
        [] => rest,
        [byte, ..] if byte.is_ascii_graphic() => rest,
        _ => rest.trim_start_with(char::is_whitespace),
    }
}

#[inline]
fn trim_end(text: &[u8]) -> &[u8] {
    let rest = trim_blanks_at_end(text);
    match rest {
        [] => rest,
        [.., byte] if byte.is_ascii_graphic() => rest,
        _ => rest.trim_end_with(char::is_whitespace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_forwards_and_backwards_alike() {
        use Ending::{CrLf, Lf, None};
        for (text, expected) in [
            (&b""[..], vec![]),
            (b"a", vec![(&b"a"[..], None)]),
            (b"\n", vec![(b"", Lf)]),
            (b"a\r\nb\n\r\n", vec![(b"a", CrLf), (b"b", Lf), (b"", CrLf)]),
            (b"a\r\r\nb", vec![(b"a\r", CrLf), (b"b", None)]),
            (b"a\rb\n\r", vec![(b"a\rb", Lf), (b"\r", None)]),
            (b"\0\n\xFF\r\n", vec![(b"\0", Lf), (b"\xFF", CrLf)]),
        ] {
            let lines = expected
                .into_iter()
                .map(|(text, ending)| Line { text, ending });
            let mut lines: Vec<_> = lines.collect();
            assert_eq!(Lines(text).collect::<Vec<_>>(), lines);
            lines.reverse();
            assert_eq!(Lines(text).rev().collect::<Vec<_>>(), lines);
        }
    }

    #[test]
    fn knows_the_white_space_of_unicode_and_takes_invalid_bytes_for_none() {
        for (lead, body, trail) in [
            (&b"\t "[..], &b"a b"[..], &b" \t"[..]),
            (b"", b"a", b""),
            (b" \t ", b"", b""),
            (
                "\u{A0}\u{3000}".as_bytes(),
                "ä".as_bytes(),
                "\u{2009}\r".as_bytes(),
            ),
            (b" ", b"\xFF", b" "),
            (b" ", b"\x85\xA0", b" "),
            (b"\x0B\x0C", b"\0", b" "),
        ] {
            let text = [lead, body, trail].concat();
            let line = Line {
                text: &text,
                ending: Ending::None,
            };
            assert_eq!(
                (line.lead(), line.body(), line.trail()),
                (lead, body, trail)
            );
            assert_eq!(line.is_blank(), body.is_empty());
        }
    }
}
