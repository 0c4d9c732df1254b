//! The id of a message that cannot be read as a whole: because it is too long, or no valid message.

use serde_json::Value;

/// The longest key or value that is kept while looking, in bytes. Longer ids are not sent back.
const LONGEST: usize = 1024;

/// A look for the member `id` of the outermost object, which takes the text in pieces. It never fails: a text without an id has none.
#[derive(Debug, Default)]
pub(super) struct IdSearch {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether a value follows, and not a key.
    in_value: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    found: Option<Value>,
}

impl IdSearch {
    /// Looks at the next piece.
    pub(super) fn read(&mut self, piece: &[u8]) {
        for byte in piece {
            self.take(*byte);
        }
    }

    /// Returns the id as the client wrote it, if it is a text or a number, or else null. The last member of that name counts.
    pub(super) fn id(self) -> Value {
        self.found.unwrap_or_default()
    }

    fn take(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b':' if self.depth == 1 => self.in_value = true,
            b',' if self.depth == 1 => self.end(),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            _ => self.keep(byte),
        }
    }

    /// Keeps a byte of a key or a value of the outermost object.
    fn keep(&mut self, byte: u8) {
        let kept = if self.in_value {
            &mut self.value
        } else {
            &mut self.key
        };
        if self.depth == 1 && kept.len() < LONGEST {
            kept.push(byte);
        }
    }

    /// Ends a member.
    fn end(&mut self) {
        let key = serde_json::from_slice::<String>(&self.key);
        if key.is_ok_and(|key| key == "id") {
            let value = serde_json::from_slice::<Value>(&self.value).ok();
            self.found = value.filter(|value| value.is_string() || value.is_number());
        }
        self.in_value = false;
        self.key.clear();
        self.value.clear();
    }
}

/// Returns the id of a message, as [`IdSearch::id`] does.
pub(super) fn of(message: &[u8]) -> Value {
    let mut search = IdSearch::default();
    search.read(message);
    search.id()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_found_wherever_it_is() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"a"}"#, json!(7)),
            (
                r#"{"method":"a","params":{"id":1,"b":[{"id":2}]},"id": "x-\"1" }"#,
                json!("x-\"1"),
            ),
            (r#"{"id":1.5,"method":"a"}"#, json!(1.5)),
            (
                r#"{"id":9223372036854775808}"#,
                json!(9_223_372_036_854_775_808_u64),
            ),
            (r#"{"id" : -3 , "a":"},\"id\":4"}"#, json!(-3)),
            (r#"{"\u0069d":5}"#, json!(5)),
            // No valid message, but one with an id.
            (r#"{"id":6,"params":{"a":tru}}"#, json!(6)),
            (r#"{"id":null}"#, Value::Null),
            (r#"{"id":{"id":1}}"#, Value::Null),
            (r#"{"params":{"id":1}}"#, Value::Null),
            (r#"[{"id":1}]"#, Value::Null),
            ("", Value::Null),
            (r#"}}{"id":1"#, Value::Null),
        ] {
            assert_eq!(of(text.as_bytes()), id, "{text}");
        }
        let long = format!(r#"{{"params":"{}","id":8}}"#, "x".repeat(3 << 20));
        assert_eq!(of(long.as_bytes()), json!(8));
    }

    proptest! {
        #[test]
        fn pieces_of_any_text_are_the_text(text in r#"[{}\[\]":,\\a-d0-9 id]{0,80}"#, at in 0_usize..80) {
            let at = at.min(text.len());
            let mut search = IdSearch::default();
            search.read(&text.as_bytes()[..at]);
            search.read(&text.as_bytes()[at..]);
            let id = search.id();
            if let Ok(Value::Object(object)) = serde_json::from_str(&text) {
                let known = object.get("id").cloned().unwrap_or_default();
                let known = Some(known).filter(|known| known.is_string() || known.is_number());
                prop_assert_eq!(&id, &known.unwrap_or_default());
            }
            prop_assert_eq!(id, of(text.as_bytes()));
        }
    }
}
