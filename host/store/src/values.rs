//! The values that a store takes and returns. Times are milliseconds since the Unix epoch.

use serde::Serializer;

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod counts;
pub(crate) mod process;
pub(crate) mod session;

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
