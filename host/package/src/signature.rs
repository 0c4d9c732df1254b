//! Signatures of minisign: Ed25519 over the hash of a component.

use std::fmt;
use std::str::FromStr;

/// A public key of minisign: the line of `minisign.pub` that begins with `RW`.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: minisign_verify::PublicKey,
    text: String,
}

/// Why a signature does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The key cannot be read.
    #[error(
        "{0:?} is no public key of minisign: it is the line of minisign.pub that begins with RW"
    )]
    Key(String),
    /// The signature cannot be read.
    #[error("it is no signature of minisign: {0}")]
    Form(String),
    /// Another key made the signature, or the bytes are others.
    #[error("the signature is not one of these bytes by the key {0}")]
    Wrong(String),
}

impl PublicKey {
    /// Checks that the key signed these bytes. Returns the trusted comment of the signature, which is signed with them.
    ///
    /// # Errors
    ///
    /// If the signature cannot be read, or is not one of these bytes by this key.
    pub fn verify(&self, component: &[u8], signature: &str) -> Result<String, SignatureError> {
        let signature = minisign_verify::Signature::decode(signature)
            .map_err(|error| SignatureError::Form(error.to_string()))?;
        let verified = self.key.verify(component, &signature, false);
        verified.map_err(|_| SignatureError::Wrong(self.text.clone()))?;
        Ok(signature.trusted_comment().to_owned())
    }
}

impl FromStr for PublicKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        match minisign_verify::PublicKey::from_base64(text) {
            Ok(key) => Ok(Self {
                key,
                text: text.to_owned(),
            }),
            Err(_) => Err(SignatureError::Key(text.to_owned())),
        }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
