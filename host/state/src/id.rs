//! The ids that callers choose for chats and calls. Each is checked once, when a request arrives.

use std::fmt;
use std::str::FromStr;

/// The longest chat id, in bytes.
pub const MAX_CHAT_ID: usize = 128;

/// The longest call id that a client may choose, in bytes.
pub const MAX_CALL_ID: usize = 256;

/// The greatest number of a nested call.
pub const MAX_NESTED: u32 = 999_999;

/// The conversation that a call belongs to, and the scope of its processes.
///
/// `[A-Za-z0-9._:@-]`, 1 to 128 bytes, and neither `.` nor `..`.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct ChatId(String);

/// The caller's name of a call, unique within its chat.
///
/// Visible ASCII without `/`, 1 to 256 bytes, and neither `.` nor `..`. A call that a running call made has the id of that call, `/`
/// and a number from 1 on, such as `call_7Qx/2`: see [`CallId::nested`]. [`FromStr`] reads ids that clients may choose, so it refuses
/// those of nested calls; [`CallId::recorded`] reads both.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(String);

/// A text that is no valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The text is no valid chat id.
    #[error(
        "a chat id is 1 to {MAX_CHAT_ID} characters of A-Z a-z 0-9 . _ : @ - and neither \".\" nor \"..\""
    )]
    Chat,
    /// The text is no valid call id.
    #[error(
        "a call id is 1 to {MAX_CALL_ID} visible ASCII characters without \"/\" and neither \".\" nor \"..\""
    )]
    Call,
}

impl ChatId {
    /// Returns the chat of the tool calls of the agent API that name none. The others of that API are UUIDs.
    pub fn of_agent_api() -> Self {
        Self("agent-api".to_owned())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CallId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the id of a call that may be a nested one, in a record or in the address of a call that exists.
    ///
    /// # Errors
    ///
    /// If the text is neither an id that a client may choose nor that of a nested call.
    pub fn recorded(text: &str) -> Result<Self, InvalidId> {
        match text.rsplit_once('/') {
            None => text.parse(),
            Some((outer, number)) => {
                let outer: Self = outer.parse()?;
                let nested = number.parse().ok().and_then(|number| outer.nested(number));
                // A number has one spelling, so that a call has one id.
                nested
                    .filter(|nested| nested.as_str() == text)
                    .ok_or(InvalidId::Call)
            }
        }
    }

    /// Returns the id of a call that this call makes; `None` if this call is nested itself, or if the number is not between 1 and
    /// [`MAX_NESTED`].
    pub fn nested(&self, number: u32) -> Option<Self> {
        let may_be = self.outer().is_none() && (1..=MAX_NESTED).contains(&number);
        may_be.then(|| Self(format!("{self}/{number}")))
    }

    /// Returns the number of a nested call and the id of the call that made it; `None` for any other call.
    pub fn outer(&self) -> Option<(Self, u32)> {
        let (outer, number) = self.0.rsplit_once('/')?;
        Some((Self(outer.to_owned()), number.parse().ok()?))
    }

    /// Returns a new id for a call that its caller did not name. It begins with the time, so that an index gets it at its end, and the
    /// rest is random.
    pub fn random() -> Self {
        Self(format!("call_{}", uuid::Uuid::now_v7().simple()))
    }

    /// Returns the start key of a process of this call. `ordinal` is its number among the processes that the call starts.
    pub fn start_key(&self, ordinal: u64) -> String {
        format!("{self} {ordinal}")
    }

    /// Returns the call that a start key names; `None` if [`CallId::start_key`] did not make the key.
    pub fn of_start_key(key: &str) -> Option<Self> {
        let (call, ordinal) = key.rsplit_once(' ')?;
        ordinal.parse::<u64>().ok()?;
        Self::recorded(call).ok()
    }
}

impl From<ChatId> for String {
    fn from(id: ChatId) -> Self {
        id.0
    }
}

impl TryFrom<String> for ChatId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl FromStr for ChatId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
        if is_plain(text, MAX_CHAT_ID) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::Chat)
        }
    }
}

impl FromStr for CallId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if is_plain(text, MAX_CALL_ID)
            && text
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'/')
        {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::Call)
        }
    }
}

/// Returns whether a text has a valid length and is neither `.` nor `..`. Clients would remove those from the path of a URL.
fn is_plain(text: &str, max: usize) -> bool {
    !text.is_empty() && text.len() <= max && text != "." && text != ".."
}

impl fmt::Display for ChatId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_ids_that_chat_servers_use() {
        for id in [
            "support-42",
            "a",
            "0b0c:1.2_3",
            "@ada:example.org",
            "ada@example.org",
            &"x".repeat(128),
        ] {
            assert_eq!(id.parse::<ChatId>().unwrap().as_str(), id);
        }
        for id in [
            "call_7Qx",
            "toolu_01A09q90qw90lq917835lq9",
            "chatcmpl-tool-1!~",
            &"x".repeat(256),
        ] {
            assert_eq!(id.parse::<CallId>().unwrap().as_str(), id);
        }
        CallId::random().as_str().parse::<CallId>().unwrap();
    }

    #[test]
    fn new_ids_are_in_the_order_of_time() {
        let ids: Vec<_> = (0..1000).map(|_| CallId::random()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn refuses_everything_else() {
        for id in [
            "",
            ".",
            "..",
            "a b",
            "a/b",
            "ä",
            "a\n",
            "a\0",
            &"x".repeat(129),
        ] {
            assert_eq!(id.parse::<ChatId>(), Err(InvalidId::Chat), "{id:?}");
        }
        for id in [
            "",
            ".",
            "..",
            "a b",
            "a/b",
            "ä",
            "a\u{7f}",
            "a\t",
            &"x".repeat(257),
        ] {
            assert_eq!(id.parse::<CallId>(), Err(InvalidId::Call), "{id:?}");
        }
    }

    #[test]
    fn a_nested_call_has_an_id_that_no_client_can_choose() {
        let outer: CallId = "toolu_01".parse().unwrap();
        let nested = outer.nested(12).unwrap();
        assert_eq!(nested.as_str(), "toolu_01/12");
        assert_eq!(nested.outer(), Some((outer.clone(), 12)));
        assert_eq!((outer.outer(), nested.nested(1)), (None, None));
        assert_eq!((outer.nested(0), outer.nested(1_000_000)), (None, None));
        assert_eq!(CallId::recorded("toolu_01/12").unwrap(), nested);
        assert_eq!(CallId::recorded("toolu_01").unwrap(), outer);
        assert_eq!("toolu_01/12".parse::<CallId>(), Err(InvalidId::Call));
        let long: CallId = "x".repeat(256).parse().unwrap();
        let nested = long.nested(MAX_NESTED).unwrap();
        assert_eq!(CallId::recorded(nested.as_str()).unwrap(), nested);
        for id in [
            "a/",
            "/1",
            "a/0",
            "a/01",
            "a/+1",
            "a/1/2",
            "a/x",
            "../1",
            "a /1",
            "a/1000000",
        ] {
            assert_eq!(CallId::recorded(id), Err(InvalidId::Call), "{id:?}");
        }
    }

    #[test]
    fn the_key_of_a_start_names_its_call() {
        let call: CallId = "toolu_01:x".parse().unwrap();
        assert_eq!(call.start_key(12), "toolu_01:x 12");
        assert_eq!(CallId::of_start_key("toolu_01:x 12"), Some(call));
        let nested = CallId::recorded("toolu_01:x/3").unwrap();
        assert_eq!(CallId::of_start_key(&nested.start_key(0)), Some(nested));
        for key in ["toolu_01", "toolu_01 x", "a b 1", " 1", "", "a/b 1"] {
            assert_eq!(CallId::of_start_key(key), None, "{key:?}");
        }
    }
}
