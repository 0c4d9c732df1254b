//! Bytes of an output as JSON can have them: as text, or in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use utoipa::ToSchema;

/// Bytes of an output: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Bytes {
    /// The bytes, if they are valid UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes in base64, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self {
                text: Some(text),
                base64: None,
            },
            Err(error) => Self {
                text: None,
                base64: Some(STANDARD.encode(error.as_bytes())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_or_base64() {
        let json = |bytes: &[u8]| serde_json::to_string(&Bytes::from(bytes.to_vec())).unwrap();
        assert_eq!(json("ä\n".as_bytes()), r#"{"text":"ä\n"}"#);
        assert_eq!(json(b"\xff"), r#"{"base64":"/w=="}"#);
        assert_eq!(json(b""), r#"{"text":""}"#);
    }
}
