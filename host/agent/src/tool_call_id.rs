//! The ids of tool calls, and the header that carries them.

use toolhost_state::id::MAX_CALL_ID;
use uuid::Uuid;

/// The header that names the tool call that a request is part of.
pub(super) const HEADER: &str = "coder-tool-call-id";

/// Returns a tool call id in its normal form (a UUID is lower case with hyphens), or the reason why it is not valid.
pub(super) fn normalize(text: &str) -> Result<String, String> {
    if text.is_empty()
        || text.len() > MAX_CALL_ID
        || !text.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err(format!(
            "must be 1 to {MAX_CALL_ID} visible ASCII characters"
        ));
    }
    let uuid = Uuid::parse_str(text).ok();
    Ok(uuid.map_or_else(|| text.to_owned(), |uuid| uuid.to_string()))
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
            assert_eq!(normalize(text).as_deref(), Ok(ID));
        }
        assert_eq!(normalize("call_1/A").as_deref(), Ok("call_1/A"));
        for bad in ["", "a b", "ä", &"x".repeat(MAX_CALL_ID + 1)] {
            assert!(normalize(bad).is_err(), "{bad}");
        }
    }
}
