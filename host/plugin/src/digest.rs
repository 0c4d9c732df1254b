//! The SHA-256 of a component, by which an operator pins it.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a component. Its text is 64 hexadecimal digits, as `sha256sum` prints them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

/// A text that is no SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDigest {
    /// It has another number of digits.
    #[error("a sha256 has 64 hexadecimal digits, as `sha256sum` prints them; this has {0}")]
    Length(usize),
    /// One of its characters is no digit.
    #[error("{0:?} is no hexadecimal digit: a sha256 is what `sha256sum` prints")]
    Digit(char),
}

impl Digest {
    /// Computes the digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns its 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    /// Reads 64 hexadecimal digits, in capitals or not, with or without `sha256:` before them.
    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let digit = |c: char| {
            let value = c.to_digit(16).and_then(|value| u8::try_from(value).ok());
            value.ok_or(InvalidDigest::Digit(c))
        };
        let nibbles: Vec<u8> = digits.chars().map(digit).collect::<Result<_, _>>()?;
        let bytes: Vec<u8> = nibbles
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, nibble| byte << 4 | nibble))
            .collect();
        match bytes.try_into() {
            Ok(bytes) if nibbles.len() == 64 => Ok(Self(bytes)),
            _ => Err(InvalidDigest::Length(nibbles.len())),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn is_what_sha256sum_prints() {
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        for text in [ABC.to_owned(), ABC.to_uppercase(), format!("sha256:{ABC}")] {
            assert_eq!(text.parse(), Ok(Digest::of(b"abc")), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<Digest>().unwrap_err().to_string();
        insta::assert_snapshot!(error("abc"), @"a sha256 has 64 hexadecimal digits, as `sha256sum` prints them; this has 3");
        insta::assert_snapshot!(error(&format!("{ABC}00")), @"a sha256 has 64 hexadecimal digits, as `sha256sum` prints them; this has 66");
        insta::assert_snapshot!(error(&ABC.replace('f', "g")), @"'g' is no hexadecimal digit: a sha256 is what `sha256sum` prints");
        assert!(error(&ABC[1..]).contains("has 63"));
        assert!(error("").contains("has 0"));
    }
}
