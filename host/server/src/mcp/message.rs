//! The parts of a message that are read before `rmcp` reads it: its keys and its arguments. No key may occur twice, because
//! parsers disagree about which one counts. The arguments of a call are kept as they were written.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::request::Parts;
use parking_lot::Mutex;
use rmcp::model::Extensions;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::unknown::cut;
use toolhost_http::limits::Held;

/// A message whose keys are unambiguous. Keys within the arguments are not checked here, but when the call is parsed.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) method: Option<String>,
    arguments: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Reads a message.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        let message: Members<'a> = serde_json::from_slice(text)?;
        let method = message.0.get("method");
        let method = method.and_then(|method| serde_json::from_str(method.get()).ok());
        let params = members(message.0.get("params").copied())?;
        members(params.0.get("_meta").copied())?;
        Ok(Self {
            method,
            // Some clients send null for no arguments.
            arguments: params
                .0
                .get("arguments")
                .copied()
                .filter(|value| value.get() != "null"),
        })
    }

    /// Returns the text of the arguments, as a slice of the message.
    pub(super) fn arguments(&self) -> Option<&'a [u8]> {
        Some(self.arguments?.get().as_bytes())
    }
}

/// Splits an object into its members. Any other value has no members here; later parsers refuse it.
fn members(value: Option<&RawValue>) -> Result<Members<'_>, serde_json::Error> {
    match value {
        Some(value) if value.get().starts_with('{') => serde_json::from_str(value.get()),
        _ => Ok(Members::default()),
    }
}

/// The members of an object, none of which occurs twice.
#[derive(Debug, Default)]
struct Members<'a>(HashMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;

        impl<'de> Visitor<'de> for Once {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = HashMap::new();
                while let Some((key, value)) = access.next_entry::<String, &'de RawValue>()? {
                    if members.contains_key(&key) {
                        let error = format_args!("the key {} occurs twice", cut(&key));
                        return Err(A::Error::custom(error));
                    }
                    members.insert(key, value);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Once)
    }
}

/// The data that a request carries besides the fields that `rmcp` reads. It is kept until the request has its reply.
#[derive(Clone, Debug)]
pub(super) struct Carried(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    arguments: Mutex<Option<Bytes>>,
    /// The permit that counts the bytes of the body.
    _held: Option<Held>,
}

impl Carried {
    pub(super) fn new(arguments: Option<Bytes>, held: Option<Held>) -> Self {
        Self(Arc::new(Inner {
            arguments: Mutex::new(arguments),
            _held: held,
        }))
    }

    /// Takes the text of the arguments out of a request; `None` if it has none.
    pub(super) fn take(extensions: &Extensions) -> Option<String> {
        let parts = || extensions.get::<Parts>()?.extensions.get::<Self>();
        let carried = extensions.get::<Self>().or_else(parts)?;
        let arguments = carried.0.arguments.lock().take();
        Some(String::from_utf8_lossy(&arguments?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<(Option<String>, Option<&'static [u8]>), String> {
        let message = Message::read(text.as_bytes()).map_err(|error| error.to_string())?;
        let arguments = message.arguments();
        Ok((message.method, arguments))
    }

    #[test]
    fn arguments_are_found_as_they_were_written() {
        let (method, arguments) = read(
            r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/call","params":{"arguments":{"a": 1.0, "a":2}}}"#,
        )
        .unwrap();
        assert_eq!(method.as_deref(), Some("tools/call"));
        assert_eq!(arguments, Some(br#"{"a": 1.0, "a":2}"#.as_slice()));
        for none in ["{}", r#"{"params":[]}"#, r#"{"params":{"arguments":null}}"#] {
            assert_eq!(read(none).unwrap().1, None, "{none}");
        }
    }

    #[test]
    fn a_key_occurs_once() {
        for twice in [
            r#"{"method":"a","m\u0065thod":"b"}"#,
            r#"{"params":{"arguments":{},"arguments":{}}}"#,
            r#"{"params":{"_meta":{"a":1,"a":1}}}"#,
        ] {
            assert!(read(twice).unwrap_err().contains("occurs twice"), "{twice}");
        }
        assert!(read("[]").is_err() && read("7").is_err() && read("{").is_err());
    }
}
