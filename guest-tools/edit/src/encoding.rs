//! Encodings of files: from bytes to text, and back to the same bytes.

mod detection;
mod text;

use std::borrow::Cow;
use std::fmt;

use encoding_rs::EncoderResult;

pub use text::{NotText, Text};

const MARK: char = '\u{FEFF}';

/// An encoding of text. A byte order mark is the character U+FEFF at the beginning of the text, whatever the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-16 with the low byte first.
    Utf16Le,
    /// UTF-16 with the high byte first.
    Utf16Be,
    /// An older one.
    Legacy(&'static encoding_rs::Encoding),
}

/// A character that an encoding does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmappable {
    /// The character.
    pub char: char,
    /// Its line in the text, counted from 1.
    pub line: usize,
    /// The encoding.
    pub encoding: Encoding,
}

impl fmt::Display for Unmappable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (char, code, line) = (self.char, u32::from(self.char), self.line);
        let name = self.encoding.name();
        let shown = if char.is_control() || char.is_whitespace() {
            String::new()
        } else {
            format!(" \"{char}\"")
        };
        write!(
            f,
            "{name} has no character U+{code:04X}{shown}, which line {line} of the new text has"
        )
    }
}

impl Encoding {
    /// Returns the encoding of this name, as the WHATWG defines them: `latin1`, `Shift_JIS`, `utf-16`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = encoding_rs::Encoding::for_label(name.as_bytes())?;
        Some(match found {
            found if found == encoding_rs::UTF_8 => Self::Utf8,
            found if found == encoding_rs::UTF_16LE => Self::Utf16Le,
            found if found == encoding_rs::UTF_16BE => Self::Utf16Be,
            found if found == encoding_rs::REPLACEMENT || found == encoding_rs::X_USER_DEFINED => {
                return None;
            }
            found => Self::Legacy(found),
        })
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(encoding) => encoding.name(),
        }
    }

    /// Returns the text that bytes are; `None` if they are none in this encoding.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
            Self::Utf16Le => utf16(bytes, u16::from_le_bytes),
            Self::Utf16Be => utf16(bytes, u16::from_be_bytes),
            Self::Legacy(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .map(Cow::into_owned),
        }
    }

    /// Returns a stretch of a file as text, with U+FFFD for what is none, and whether there is any.
    #[must_use]
    pub fn decode_lossy(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match self {
            Self::Legacy(encoding) => encoding.decode_without_bom_handling(bytes),
            Self::Utf8 => {
                let text = String::from_utf8_lossy(bytes);
                let replaced = matches!(text, Cow::Owned(_));
                (text, replaced)
            }
            Self::Utf16Le | Self::Utf16Be => match self.decode(bytes) {
                Some(text) => (text.into(), false),
                None => (String::from_utf8_lossy(bytes), true),
            },
        }
    }

    /// Returns the bytes of a text.
    ///
    /// # Errors
    ///
    /// The first character that this encoding does not have.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, Unmappable> {
        match self {
            Self::Utf8 => Ok(text.into()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Legacy(encoding) => legacy(encoding, text),
        }
    }

    /// Returns whether the files of this encoding begin with a byte order mark, unless they say otherwise.
    #[must_use]
    pub fn is_marked(self) -> bool {
        matches!(self, Self::Utf16Le | Self::Utf16Be)
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    let chars = char::decode_utf16(units.iter().copied().map(unit));
    let text: Result<String, _> = chars.collect();
    text.ok().filter(|_| rest.is_empty())
}

fn legacy(encoding: &'static encoding_rs::Encoding, text: &str) -> Result<Vec<u8>, Unmappable> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(text.len() + 16);
    let mut rest = text;
    loop {
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        let (read, left) = rest.split_at(read);
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::OutputFull => bytes.reserve(left.len() + 16),
            EncoderResult::Unmappable(char) => {
                let before = text.len() - left.len() - char.len_utf8();
                let before = text.get(..before).unwrap_or(read);
                return Err(Unmappable {
                    char,
                    line: before.matches('\n').count() + 1,
                    encoding: Encoding::Legacy(encoding),
                });
            }
        }
        rest = left;
    }
}

#[cfg(test)]
mod tests;
