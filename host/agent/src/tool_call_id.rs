//! The ids of tool calls, and the header that carries them.

use toolhost_state::id::{CallId, InvalidId};
use uuid::Uuid;

/// The header that names the tool call that a request is part of.
pub(super) const HEADER: &str = "coder-tool-call-id";

/// Reads a tool call id. A UUID becomes lower case with hyphens.
pub(super) fn normalize(text: &str) -> Result<CallId, InvalidId> {
    match Uuid::parse_str(text) {
        Ok(uuid) => uuid.to_string().parse(),
        Err(_) => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_one_form() {
        const ID: &str = "11111111-2222-4333-8444-aaaaaaaaaaaa";
        for text in [
            ID,
            &ID.to_uppercase(),
            &format!("{{{ID}}}"),
            &ID.replace('-', ""),
        ] {
            assert_eq!(normalize(text).unwrap().as_str(), ID);
        }
        assert_eq!(normalize("call_1:A").unwrap().as_str(), "call_1:A");
        for bad in ["", "a b", "a/1", "ä", &"x".repeat(257)] {
            assert!(normalize(bad).is_err(), "{bad}");
        }
    }
}
