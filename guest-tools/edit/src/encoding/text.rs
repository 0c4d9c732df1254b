//! A file as text.

use std::fmt;

use super::{Encoding, Unmappable, detection};

/// A file as text, and the encoding that its bytes have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The encoding of the file.
    pub encoding: Encoding,
    /// The text in UTF-8, with its byte order mark. Bytes of a file in UTF-8 that are none stay.
    pub bytes: Vec<u8>,
}

/// Why a file is not read as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotText {
    /// It is of another kind; `None`: of an unknown one.
    Binary(Option<&'static str>),
    /// It is text in UTF-32, which is not supported.
    Utf32,
    /// The bytes are not valid in the encoding that was given.
    Invalid(Encoding),
    /// The beginning of the file looks like this encoding, but other bytes are not valid in it.
    Mixed(Encoding),
    /// The file has the byte order mark of another encoding than the one that was given.
    Marked(Encoding),
    /// Some characters have other bytes in the file than the encoding gives them.
    Lossy(Encoding),
}

impl NotText {
    pub(super) fn binary(bytes: &[u8]) -> Self {
        Self::Binary(infer::get(bytes).map(|kind| kind.mime_type()))
    }
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary(Some(kind)) => write!(f, "file is binary ({kind}), not text"),
            Self::Binary(None) => f.write_str("file is binary, not text"),
            Self::Utf32 => f.write_str("file is text in UTF-32, which is not supported"),
            Self::Invalid(encoding) => {
                write!(f, "file is not valid {}", encoding.name())
            }
            Self::Mixed(encoding) => {
                let name = encoding.name();
                write!(
                    f,
                    "file seems to be {name}, but some of its bytes are not; if it has another encoding, pass that as encoding"
                )
            }
            Self::Marked(encoding) => {
                let name = encoding.name();
                write!(f, "file begins with the byte order mark of {name}")
            }
            Self::Lossy(encoding) => {
                let name = encoding.name();
                write!(
                    f,
                    "file seems to be {name}, but bytes outside of the edit would change when it is written; if it has another \
                     encoding, pass that as encoding"
                )
            }
        }
    }
}

impl Text {
    /// Reads a file in the encoding that is given or, if there is none, in the one that it seems to have.
    ///
    /// # Errors
    ///
    /// Why it is no text that can be edited: writing it back would have to give the same bytes.
    pub fn read(data: Vec<u8>, encoding: Option<Encoding>) -> Result<Self, NotText> {
        // An encoding by name does not make a file text that can be edited.
        if let Some(given) = encoding {
            match detection::marked(&data) {
                Some(marked) => _ = marked?,
                None if detection::is_binary(&data, given) => return Err(NotText::binary(&data)),
                None => {}
            }
        }
        let (text, lossless) = Self::decode(data, encoding)?;
        if lossless {
            Ok(text)
        } else {
            Err(NotText::Lossy(text.encoding))
        }
    }

    /// Reads a file to be shown. With a given encoding, any file is text. Also returns whether writing it back would give the same bytes.
    ///
    /// # Errors
    ///
    /// Why it is no text.
    pub fn decode(data: Vec<u8>, given: Option<Encoding>) -> Result<(Self, bool), NotText> {
        let encoding = match given {
            None => detection::detect(&data)?,
            Some(given) => given_or_marked(&data, given)?,
        };
        if encoding == Encoding::Utf8 {
            let text = Self {
                encoding,
                bytes: data,
            };
            return Ok((text, true));
        }
        let invalid = || match given {
            None => NotText::Mixed(encoding),
            Some(_) => NotText::Invalid(encoding),
        };
        let text = encoding.decode(&data).ok_or_else(invalid)?;
        let lossless = encoding.encode(&text).is_ok_and(|bytes| bytes == data);
        if !lossless && given.is_none() && encoding == Encoding::Legacy(encoding_rs::GBK) {
            // It is read the same, and has all characters.
            return Self::decode(data, Some(Encoding::Legacy(encoding_rs::GB18030)));
        }
        let text = Self {
            encoding,
            bytes: text.into(),
        };
        Ok((text, lossless))
    }

    /// Returns the bytes of the file if it has this text instead, which is UTF-8 wherever this one is.
    ///
    /// # Errors
    ///
    /// The first character that the encoding does not have.
    pub fn encoded(&self, text: &[u8]) -> Result<Vec<u8>, Unmappable> {
        match self.encoding {
            Encoding::Utf8 => Ok(text.to_vec()),
            encoding => encoding.encode(&String::from_utf8_lossy(text)),
        }
    }

    /// Returns whether it begins with a byte order mark.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.bytes.starts_with(super::MARK.to_string().as_bytes())
    }
}

/// Returns the encoding to read a file in for which one is given. A byte order mark wins if both are UTF-16: `utf-16` says nothing of the
/// order.
fn given_or_marked(data: &[u8], given: Encoding) -> Result<Encoding, NotText> {
    match detection::marked(data) {
        None | Some(Err(NotText::Binary(_))) => Ok(given),
        Some(marked) => match marked? {
            marked if marked == given || given.is_marked() => Ok(marked),
            marked => Err(NotText::Marked(marked)),
        },
    }
}
