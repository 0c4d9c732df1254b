//! Messages as clients write them. No key may occur twice, because parsers disagree about which one counts. The arguments of a
//! call are kept as they were written.

use std::collections::HashMap;
use std::fmt;

use axum::body::Bytes;
use axum::http::request::Parts;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, Extensions, JsonRpcMessage};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::unknown::cut;

/// A message whose keys are unambiguous. Keys within the arguments are not checked here, but when the call is parsed.
#[derive(Debug)]
pub(super) struct Message<'a> {
    members: Members<'a>,
    params: Members<'a>,
}

impl<'a> Message<'a> {
    /// Splits a message into its members, whose values are not parsed yet.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        let members: Members<'a> = serde_json::from_slice(text)?;
        let params = members.object("params")?;
        params.object("_meta")?;
        Ok(Self { members, params })
    }

    pub(super) fn is_initialize(&self) -> bool {
        let method = self
            .members
            .get("method")
            .map(serde_json::from_str::<String>);
        method.is_some_and(|method| method.is_ok_and(|method| method == "initialize"))
    }

    /// Returns the text of the arguments, as a slice of the message, whatever they are. `None` if there are none: some clients send null.
    pub(super) fn arguments(&self) -> Option<&'a str> {
        let arguments = self.params.get("arguments");
        arguments.filter(|text| *text != "null")
    }

    /// Returns the message without its arguments, if these are no object that `rmcp` would take, such as one with half of a surrogate pair.
    pub(super) fn without_odd_arguments(&self) -> Option<Vec<u8>> {
        let is_odd = |text: &&str| serde_json::from_str::<Map<String, Value>>(text).is_err();
        self.arguments().filter(is_odd)?;
        let message = self.members().ok()?;
        serde_json::to_vec(&message).ok()
    }

    /// Returns what is wrong with a message that `rmcp` does not take: the first member that is not as it must be.
    pub(super) fn fault(&self) -> String {
        let of = |members: &Members<'a>, key: &str| {
            let text = members.get(key);
            text.and_then(|text| serde_json::from_str::<Value>(text).ok())
        };
        let (members, params) = (&self.members, &self.params);
        if of(members, "jsonrpc") != Some("2.0".into()) {
            return r#""jsonrpc" must be "2.0""#.to_owned();
        }
        if of(members, "id").is_some_and(|id| !id.is_string() && !id.is_i64()) {
            return r#""id" must be a text, or a whole number below 2^63"#.to_owned();
        }
        let Some(method) =
            of(members, "method").and_then(|method| Some(method.as_str()?.to_owned()))
        else {
            return r#""method" must be a text"#.to_owned();
        };
        if of(members, "params").is_some_and(|params| !params.is_object()) {
            return r#""params" must be an object"#.to_owned();
        }
        let texts: &[&str] = match method.as_str() {
            "initialize" => &["protocolVersion"],
            "tools/call" => &["name"],
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => &["uri"],
            _ => &[],
        };
        let objects: &[&str] = match method.as_str() {
            "initialize" => &["capabilities", "clientInfo"],
            _ => &[],
        };
        let no_text = |key: &&&str| !of(params, key).is_some_and(|value| value.is_string());
        let no_object = |key: &&&str| !of(params, key).is_some_and(|value| value.is_object());
        if let Some(key) = texts.iter().find(no_text) {
            return format!(r#""params.{key}" must be a text"#);
        }
        if let Some(key) = objects.iter().find(no_object) {
            return format!(r#""params.{key}" must be an object"#);
        }
        format!(r#""params" are not those of {}"#, cut(&method))
    }

    /// Parses the members without the arguments.
    fn members(&self) -> Result<Map<String, Value>, serde_json::Error> {
        let mut members = self.members.parse("params")?;
        let params = self.params.parse("arguments")?;
        members.insert("params".to_owned(), params.into());
        Ok(members)
    }

    /// Parses the message for `rmcp`. The arguments are not parsed, but carried as [`Written`].
    pub(super) fn parse(&self) -> Result<ClientJsonRpcMessage, serde_json::Error> {
        let Some(arguments) = self.arguments() else {
            let message = serde_json::from_value(self.members.parse("")?.into())?;
            // `rmcp` takes a handshake with other parameters for a request of another kind.
            return match &message {
                JsonRpcMessage::Request(request)
                    if self.is_initialize()
                        && !matches!(request.request, ClientRequest::InitializeRequest(_)) =>
                {
                    Err(serde_json::Error::custom(self.fault()))
                }
                _ => Ok(message),
            };
        };
        let mut message: ClientJsonRpcMessage = serde_json::from_value(self.members()?.into())?;
        message.insert_extension(Written(Bytes::copy_from_slice(arguments.as_bytes())));
        Ok(message)
    }
}

/// The members of an object as text. No key occurs twice.
#[derive(Debug, Default)]
struct Members<'a>(HashMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|value| value.get())
    }

    /// Splits a member that is an object. Any other value has no members here; later parsers refuse it.
    fn object(&self, key: &str) -> Result<Self, serde_json::Error> {
        let object = self.get(key).filter(|text| text.starts_with('{'));
        object.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }

    /// Parses all members but one.
    fn parse(&self, without: &str) -> Result<Map<String, Value>, serde_json::Error> {
        let members = self.0.iter().filter(|(key, _)| *key != without);
        members
            .map(|(key, value)| Ok((key.clone(), serde_json::from_str(value.get())?)))
            .collect()
    }
}

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

/// The text of the arguments of a call: an extension of its request.
#[derive(Clone, Debug)]
pub(super) struct Written(pub(super) Bytes);

impl Written {
    /// Takes the text of the arguments out of a request; `None` if it has none.
    pub(super) fn take(extensions: &mut Extensions) -> Option<String> {
        let written = extensions.remove::<Self>();
        let sent = || extensions.get_mut::<Parts>()?.extensions.remove::<Self>();
        let written = written.or_else(sent)?;
        Some(String::from_utf8_lossy(&written.0).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::GetExtensions;

    use super::*;

    #[test]
    fn arguments_are_found_as_they_were_written() {
        let call = r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/call","params":{"name":"t","arguments":{"a": 1.0, "a":2}}}"#;
        let call = Message::read(call.as_bytes()).unwrap();
        assert_eq!(call.arguments(), Some(r#"{"a": 1.0, "a":2}"#));
        let ClientJsonRpcMessage::Request(mut request) = call.parse().unwrap() else {
            panic!("{call:?} is no request");
        };
        let written = Written::take(request.request.extensions_mut());
        assert_eq!(written.unwrap(), r#"{"a": 1.0, "a":2}"#);
        assert!(matches!(
            request.request,
            ClientRequest::CallToolRequest(call) if call.params.name == "t" && call.params.arguments.is_none()
        ));
        for none in ["{}", r#"{"params":[]}"#, r#"{"params":{"arguments":null}}"#] {
            let read = Message::read(none.as_bytes()).unwrap();
            assert_eq!(read.arguments(), None, "{none}");
        }
    }

    #[test]
    fn a_handshake_is_recognized() {
        let is_initialize = |text: &str| Message::read(text.as_bytes()).unwrap().is_initialize();
        assert!(is_initialize(r#"{"m\u0065thod":"initi\u0061lize"}"#));
        assert!(!is_initialize(r#"{"method":"ping"}"#) && !is_initialize(r#"{"method":1}"#));
    }

    #[test]
    fn a_key_occurs_once() {
        let error = |text: &str| Message::read(text.as_bytes()).unwrap_err().to_string();
        for twice in [
            r#"{"method":"a","m\u0065thod":"b"}"#,
            r#"{"params":{"arguments":{},"arguments":{}}}"#,
            r#"{"params":{"_meta":{"a":1,"a":1}}}"#,
        ] {
            assert!(error(twice).contains("occurs twice"), "{twice}");
        }
        for other in ["[]", "7", "{"] {
            assert!(Message::read(other.as_bytes()).is_err(), "{other}");
        }
    }
}
