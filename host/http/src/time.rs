//! Times as requests and replies have them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Number;

use crate::whole;

/// Reads whole milliseconds, which JSON may as well write as `1000.0` or `1e3`.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let whole = whole::of(&number).map(Duration::from_millis);
    let whole = whole.ok_or_else(|| {
        let value = number.as_f64().unwrap_or(f64::NAN);
        D::Error::invalid_value(Unexpected::Float(value), &"a number of whole milliseconds")
    });
    whole.map(Some)
}

/// Returns whole milliseconds.
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns whole seconds since 1970; 0 before.
pub fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
