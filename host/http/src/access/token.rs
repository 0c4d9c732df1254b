//! Tokens, of which only hashes are kept.

use constant_time_eq::constant_time_eq_32;
use sha2::{Digest, Sha256};

/// A bearer token, of which only the hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// A text that cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is 1 to 4096 visible ASCII characters without spaces")]
pub struct InvalidToken;

impl Token {
    /// Makes a token of this text. White space around it, such as the line end of a file, does not count.
    ///
    /// # Errors
    ///
    /// If no header could carry it.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        if text.is_empty() || text.len() > 4096 || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(InvalidToken);
        }
        Ok(Self(hash(text.as_bytes())))
    }

    /// Makes a token of the SHA-256 of its text.
    pub fn from_sha256(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Returns the token with this text, which may be no valid token.
    pub(super) fn of(text: &[u8]) -> Self {
        Self(hash(text))
    }

    /// Returns whether this is the same token. Takes the same time for every other token.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        constant_time_eq_32(&self.0, &other.0)
    }

    /// Returns the SHA-256 of its text.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.0
    }
}

fn hash(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}
