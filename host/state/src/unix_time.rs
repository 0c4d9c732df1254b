//! Times as milliseconds since the Unix epoch, which is the form of stores, contracts, cookies and answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the milliseconds since the Unix epoch; 0 for an earlier time.
pub fn to_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the milliseconds from the Unix epoch to now.
pub fn now_ms() -> u64 {
    to_ms(SystemTime::now())
}

/// Returns the time of so many milliseconds since the Unix epoch, or the epoch itself if the system has no such time.
pub fn from_ms(milliseconds: u64) -> SystemTime {
    let since = Duration::from_millis(milliseconds);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_back_to_the_millisecond() {
        for milliseconds in [0, 1, 1_790_000_000_123] {
            assert_eq!(to_ms(from_ms(milliseconds)), milliseconds);
        }
        assert_eq!(to_ms(UNIX_EPOCH - Duration::from_secs(1)), 0);
        assert!(now_ms() > 1_790_000_000_000);
    }
}
