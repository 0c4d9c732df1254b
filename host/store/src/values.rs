//! The values that a store takes and returns. Times are milliseconds since the Unix epoch.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use toolhost_state::id::CallId;

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod counts;
pub(crate) mod event;
pub(crate) mod news;
pub(crate) mod notice;
pub(crate) mod plugin;
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

/// Deserializes the id of a call, which may be a nested one.
fn parse_call_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CallId, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    CallId::recorded(&text).map_err(D::Error::custom)
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
