//! Times as people write them on the command line.

use std::time::Duration;

/// Reads a time.
///
/// # Errors
///
/// If the text is not a time. The error says how a time is written.
pub fn time(text: &str) -> Result<Duration, &'static str> {
    humantime::parse_duration(text).map_err(|_| "write a time as 250ms, 30s or \"1h 30m\"")
}
