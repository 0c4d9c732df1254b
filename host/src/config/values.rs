//! Values that people write: sizes, times, and texts that are kept elsewhere.

use std::fmt;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// A number of bytes: `65536`, `"64KiB"`, `"1.5 MiB"`, `"10MB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// A time: `"30s"`, `"1h 30m"`, `"250ms"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

/// The value of a setting: a text, a number or a truth value, which a plugin gets as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting(pub(super) String);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sizes;

        impl Visitor<'_> for Sizes {
            type Value = Size;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of bytes, such as 65536 or \"64KiB\"")
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                let bytes = u64::try_from(bytes);
                bytes
                    .map(Size)
                    .map_err(|_| E::custom("a size cannot be negative"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                let size: Result<ByteSize, _> = text.parse();
                size.map(|size| Size(size.as_u64())).map_err(|_| {
                    E::custom(format!(
                        "{text:?} is no size; write it as \"64KiB\" or \"1.5MiB\""
                    ))
                })
            }
        }
        deserializer.deserialize_any(Sizes)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map(Time).map_err(|error| {
            D::Error::custom(format!(
                "{text:?} is no time ({error}); write it as \"250ms\", \"30s\" or \"1h 30m\""
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => Ok(Self(text)),
            toml::Value::Integer(number) => Ok(Self(number.to_string())),
            toml::Value::Float(number) => Ok(Self(number.to_string())),
            toml::Value::Boolean(truth) => Ok(Self(truth.to_string())),
            _ => Err(D::Error::custom(
                "a setting is a text, a number, true or false",
            )),
        }
    }
}
