//! Times as requests and replies have them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Number;

/// Above this, a number with a point may stand for several integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads whole milliseconds, which JSON may as well write as `1000.0` or `1e3`.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if let Some(whole) = number.as_u64() {
        return Ok(Some(Duration::from_millis(whole)));
    }
    let value = number.as_f64().unwrap_or(f64::NAN);
    if value.fract() == 0.0 && (0.0..=EXACT).contains(&value) {
        return Ok(Some(Duration::from_secs_f64(value / 1000.0)));
    }
    let expected = "a number of whole milliseconds";
    Err(D::Error::invalid_value(Unexpected::Float(value), &expected))
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
