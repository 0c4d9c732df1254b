//! The values that a store takes and returns. Times are milliseconds since the Unix epoch.

use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod counts;
pub(crate) mod process;
pub(crate) mod session;

/// Serializes an id.
fn id<S: Serializer>(id: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// Deserializes an id.
fn parsed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Serializes an id that may be missing.
fn optional_id<S: Serializer>(
    id: &Option<impl std::fmt::Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => serializer.collect_str(id),
        None => serializer.serialize_none(),
    }
}
