//! The arguments of a call: one JSON object, bounded and unambiguous before any plugin sees it.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The longest text of arguments, in bytes.
pub const MAX_ARGUMENTS: usize = 1 << 20;

/// The deepest nesting of arguments; the object itself is the first level.
pub const MAX_DEPTH: usize = 64;

/// The text of one JSON object without duplicate keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    text: String,
    digest: [u8; 32],
}

/// A text that cannot be the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidArguments {
    /// It is too long.
    #[error(
        "the arguments have {0} bytes, the most is {MAX_ARGUMENTS}: send less at once, such as a file in parts"
    )]
    TooLarge(usize),
    /// It is no JSON, nests too deeply, or has a duplicate key.
    #[error("the arguments are not valid JSON: {0}")]
    NotJson(String),
    /// It is JSON, but no object.
    #[error("the arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
}

impl Arguments {
    /// Checks the text of one JSON object, or of a JSON text that has one in it. `null` and an empty text, which some providers send for a
    /// tool without arguments, are an object without members.
    ///
    /// # Errors
    ///
    /// If the text is longer than [`MAX_ARGUMENTS`], nests deeper than [`MAX_DEPTH`], has an object with a duplicate key,
    /// or is no JSON object.
    pub fn parse(text: &str) -> Result<Self, InvalidArguments> {
        if text.len() > MAX_ARGUMENTS {
            return Err(InvalidArguments::TooLarge(text.len()));
        }
        let not_json = |error: serde_json::Error| InvalidArguments::NotJson(error.to_string());
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let mut value = Strict { depth: 0 }
            .deserialize(&mut deserializer)
            .map_err(not_json)?;
        deserializer.end().map_err(not_json)?;
        let kind = match &value {
            // Some providers send the arguments as the text of an object, and clients pass them on.
            Value::String(inner) if inner.trim_start().starts_with('{') => {
                return Self::parse(inner);
            }
            Value::String(inner) if ["", "null"].contains(&inner.trim()) => {
                return Self::parse("{}");
            }
            Value::Null => return Self::parse("{}"),
            Value::Object(_) => {
                let text = value.to_string();
                // `1e18` has four bytes, and nineteen digits.
                if text.len() > MAX_ARGUMENTS {
                    return Err(InvalidArguments::TooLarge(text.len()));
                }
                value.sort_all_objects();
                let digest = blake3::hash(value.to_string().as_bytes()).into();
                return Ok(Self { text, digest });
            }
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
        };
        Err(InvalidArguments::NotAnObject(kind))
    }

    /// Returns the object in a normal form: without white space, and with each whole number of up to 64 bits written as digits. Callers
    /// that write `1.0` or `1e0` for `1` make the same call, so the tool gets the same text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the BLAKE3 hash of the canonical form, which is [`Arguments::as_str`] with sorted keys. Equal arguments have equal hashes,
    /// however they were written.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

/// A strict reader of JSON. It refuses duplicate keys and deep nesting, because parsers disagree about them.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(&self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > MAX_DEPTH {
            let problem = format_args!("it nests deeper than {MAX_DEPTH} levels");
            return Err(E::custom(problem));
        }
        Ok(Self { depth })
    }
}

/// Converts a double into an integer if it is a whole number of at most 64 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the double is whole and in range"
)]
fn whole(value: f64) -> Value {
    const MINUS_TWO_TO_63: f64 = -TWO_TO_63;
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    const TWO_TO_64: f64 = 2.0 * TWO_TO_63;
    match value {
        _ if value.fract() != 0.0 => value.into(),
        MINUS_TWO_TO_63..TWO_TO_63 => (value as i64).into(),
        TWO_TO_63..TWO_TO_64 => (value as u64).into(),
        _ => value.into(),
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(whole(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = access.next_element_seed(deeper)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut values = serde_json::Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if values.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} occurs twice"
                )));
            }
            let value = access.next_value_seed(deeper);
            let value = value.map_err(|error| match is_of_surrogates(&error) {
                true => A::Error::custom(format_args!(
                    "{key:?} has half of a surrogate pair, such as \\ud83d without the other half, which is no character: send the \
                     whole character"
                )),
                false => error,
            })?;
            values.insert(key, value);
        }
        Ok(values.into())
    }
}

/// Returns whether `serde_json` found half of a surrogate pair, which is no character.
fn is_of_surrogates(error: &impl fmt::Display) -> bool {
    error.to_string().contains("hex escape")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn calls_of_one_meaning_are_one_and_reach_the_tool_as_one() {
        let parse = |text: &str| Arguments::parse(text).unwrap();
        let a = parse(r#"{"a":1,"b":[true,null,"x"],"c":1e2}"#);
        let b = parse("{ \"c\": 100, \"b\" : [true,null,\"\\u0078\"], \"a\":1.0 }");
        assert_eq!(a.as_str(), r#"{"a":1,"b":[true,null,"x"],"c":100}"#);
        assert_eq!(b.as_str(), r#"{"c":100,"b":[true,null,"x"],"a":1}"#);
        assert_eq!(a.digest(), b.digest());
        assert_ne!(a.digest(), parse(r#"{"a":1}"#).digest());
    }

    #[test]
    fn each_number_has_one_spelling() {
        let of = |number: &str| Arguments::parse(&format!("{{\"a\":[{number}]}}")).unwrap();
        for (spellings, one) in [
            (&["1", "1.0", "1e0", "10E-1", "0.1e1"][..], "1"),
            (&["0", "-0", "0.0", "-0.0", "0e9"], "0"),
            (&["-2e3", "-2000", "-2000.0"], "-2000"),
            (&["1.5", "15e-1", "1.50"], "1.5"),
            (&["1e16", "10000000000000000"], "10000000000000000"),
            (
                &["9007199254740992", "9007199254740992.0"],
                "9007199254740992",
            ),
            (&["9007199254740993"], "9007199254740993"),
            (
                &["-9223372036854775808", "-9223372036854775808.0"],
                "-9223372036854775808",
            ),
            (&["18446744073709551615"], "18446744073709551615"),
            (&["1e20", "100000000000000000000"], "1e+20"),
        ] {
            for spelling in spellings {
                let arguments = of(spelling);
                assert_eq!(
                    arguments.as_str(),
                    format!("{{\"a\":[{one}]}}"),
                    "{spelling}"
                );
                assert_eq!(arguments.digest(), of(one).digest(), "{spelling}");
            }
        }
        // Neighbours that are one double are two calls.
        assert_ne!(
            of("9007199254740993").digest(),
            of("9007199254740992").digest()
        );
        assert_ne!(
            of("18446744073709551615").digest(),
            of("18446744073709551614").digest()
        );
    }

    #[test]
    fn an_object_in_a_text_is_that_object() {
        let object = Arguments::parse(r#"{"command":"echo \"hi\""}"#).unwrap();
        let text = serde_json::to_string(object.as_str()).unwrap();
        assert_eq!(Arguments::parse(&text), Ok(object));
        let error = |text: &str| Arguments::parse(text).unwrap_err().to_string();
        assert!(error(r#""{\"a\":tru}""#).contains("expected ident at line 1 column 9"));
        let array = "the arguments must be a JSON object, not a string";
        assert_eq!(error(r#""[]""#), array);
        for none in ["null", r#""""#, r#"" \n""#, r#""null""#] {
            assert_eq!(Arguments::parse(none), Arguments::parse("{}"), "{none}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_named() {
        for text in [
            r#"{"path":"x","content":"\ud83d"}"#,
            r#"{"path":"x","content":["a","\ude00 \ud83d\u0041"]}"#,
        ] {
            let error = Arguments::parse(text).unwrap_err().to_string();
            assert!(
                error.contains(r#""content" has half of a surrogate pair"#),
                "{error}"
            );
        }
        assert!(Arguments::parse(r#"{"a":"\ud83d\ude00"}"#).is_ok());
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| Arguments::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("[]"),
            "the arguments must be a JSON object, not an array"
        );
        assert!(error(r#"{"a":1,"a":2}"#).contains(r#"the key "a" occurs twice"#));
        assert!(error(r#"{"x":{"a":1,"\u0061":2}}"#).contains("occurs twice"));
        assert!(error("{").starts_with("the arguments are not valid JSON: "));
        assert!(error("{} {}").contains("trailing characters"));
        assert_eq!(
            error(&" ".repeat(MAX_ARGUMENTS + 1)),
            "the arguments have 1048577 bytes, the most is 1048576: send less at once, such as a file in parts"
        );
        let numbers = "1e18,".repeat(MAX_ARGUMENTS / 20 + 1);
        assert_eq!(
            error(&format!(r#"{{"a":[{numbers}0]}}"#)),
            "the arguments have 1048589 bytes, the most is 1048576: send less at once, such as a file in parts"
        );
    }

    #[test]
    fn bounds_the_depth_exactly() {
        let nested = |levels: usize| {
            format!(
                "{{\"a\":{}{}}}",
                "[".repeat(levels - 1),
                "]".repeat(levels - 1)
            )
        };
        assert!(Arguments::parse(&nested(MAX_DEPTH)).is_ok());
        assert!(
            Arguments::parse(&nested(MAX_DEPTH + 1))
                .unwrap_err()
                .to_string()
                .contains("deeper than 64 levels")
        );
        assert!(Arguments::parse(&"[".repeat(200_000)).is_err());
        assert!(Arguments::parse(&"{\"a\":".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            _ = Arguments::parse(&text);
        }

        #[test]
        fn agrees_with_serde_json(keys in prop::collection::hash_set("[a-c]{0,3}", 0..5), number in any::<f64>()) {
            let object: serde_json::Map<_, _> = keys.into_iter().map(|key| (key, Value::from(number))).collect();
            let text = Value::Object(object).to_string();
            prop_assert!(Arguments::parse(&text).is_ok());
        }
    }
}
