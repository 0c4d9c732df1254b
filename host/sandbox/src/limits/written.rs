//! The form of limits in the configuration: numbers and texts.

use std::fmt;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// The word for no limit.
const NO_LIMIT: &str = "none";

/// How to read a kind of limit, which the configuration writes as a number or a text.
struct Written<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
    count: fn(u64) -> Option<T>,
}

impl<T> Visitor<'_> for Written<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"none\" or {}", self.expected)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<T>, E> {
        let limit = (self.count)(number);
        limit
            .map(Some)
            .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<T>, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
        if text == NO_LIMIT {
            return Ok(None);
        }
        let limit = (self.parse)(text);
        limit
            .map(Some)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

pub(super) fn write_number<S: Serializer>(
    limit: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match limit {
        Some(limit) => serializer.serialize_u64(*limit),
        None => serializer.serialize_str(NO_LIMIT),
    }
}

pub(super) mod bytes {
    //! Sizes: `65536`, `"2 GiB"`.

    use super::{ByteSize, Deserializer, Written};

    pub(in crate::limits) use super::write_number as serialize;

    pub(in crate::limits) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<u64>, D::Error> {
        from.deserialize_any(Written {
            expected: "a number of bytes, such as 65536 or \"2 GiB\"",
            parse: |text| Some(text.parse::<ByteSize>().ok()?.as_u64()),
            count: Some,
        })
    }
}

pub(super) mod count {
    //! Numbers of processes.

    use super::{Deserializer, Written};

    pub(in crate::limits) use super::write_number as serialize;

    pub(in crate::limits) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<u64>, D::Error> {
        from.deserialize_any(Written {
            expected: "a number above 0",
            parse: |_| None,
            count: |number| (number > 0).then_some(number),
        })
    }
}

pub(super) mod time {
    //! Times: `"10min"`.

    use super::{Deserializer, Duration, NO_LIMIT, Serializer, Written};

    pub(in crate::limits) fn serialize<S: Serializer>(
        limit: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match limit {
            Some(limit) => to.collect_str(&humantime::format_duration(*limit)),
            None => to.serialize_str(NO_LIMIT),
        }
    }

    pub(in crate::limits) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        from.deserialize_any(Written {
            expected: "a time, such as \"30s\" or \"10min\"",
            parse: |text| humantime::parse_duration(text).ok(),
            count: |_| None,
        })
    }
}
