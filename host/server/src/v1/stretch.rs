//! Stretches of an output as JSON can have them: as text, cut between characters, or in base64.

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

/// Returns how many of the last bytes are the beginning of an incomplete character: at most 3.
///
/// The result depends only on the last 3 bytes, so that a client that reads again gets the same cut.
pub(super) fn unfinished(bytes: &[u8]) -> usize {
    for count in 1..=3 {
        let tail = bytes
            .len()
            .checked_sub(count)
            .and_then(|at| bytes.get(at..));
        match tail {
            Some([first, ..]) if first & 0b1100_0000 == 0b1000_0000 => {}
            Some(tail) => {
                let begun = |error: std::str::Utf8Error| error.error_len().is_none();
                return match std::str::from_utf8(tail).is_err_and(begun) {
                    true => count,
                    false => 0,
                };
            }
            None => return 0,
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_character_begins_with_is_unfinished() {
        for (bytes, count) in [
            ("".as_bytes(), 0),
            (b"abc", 0),
            ("aä".as_bytes(), 0),
            (b"a\xc3", 1),
            (b"\xe2\x82", 2),
            (b"abc\xf0\x9f\x98", 3),
            ("😀".as_bytes(), 0),
            // No character begins like this.
            (b"\x80\x80\x80", 0),
            (b"\xff", 0),
            (b"\xc3a", 0),
            (b"\xe0\x80", 0),
        ] {
            assert_eq!(unfinished(bytes), count, "{bytes:?}");
            // Bytes before the last three do not count.
            let longer = [b"xyz\xff", bytes].concat();
            assert_eq!(unfinished(&longer), count, "{bytes:?}");
        }
    }

    #[test]
    fn bytes_are_text_or_base64() {
        let json = |bytes: &[u8]| serde_json::to_string(&Bytes::from(bytes.to_vec())).unwrap();
        assert_eq!(json("ä\n".as_bytes()), r#"{"text":"ä\n"}"#);
        assert_eq!(json(b"\xff"), r#"{"base64":"/w=="}"#);
        assert_eq!(json(b""), r#"{"text":""}"#);
    }
}
