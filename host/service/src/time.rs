//! Times as people write them on the command line.

use std::time::Duration;

/// It is none.
#[derive(Debug, thiserror::Error)]
#[error("write a time as 250ms, 30s or \"1h 30m\"")]
pub struct InvalidTime;

/// Reads a time.
pub fn time(text: &str) -> Result<Duration, InvalidTime> {
    humantime::parse_duration(text).map_err(|_| InvalidTime)
}
