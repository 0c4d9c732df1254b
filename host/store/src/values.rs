//! The values that a store takes and returns. Times are milliseconds since the Unix epoch.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod counts;
pub(crate) mod process;
pub(crate) mod session;
pub(crate) mod workspace;

/// Serializes an id.
fn id<S: Serializer>(id: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
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

/// Deserializes an id.
fn parse_id<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}
