//! Times in the format of RFC 3339.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last millisecond of the year 9999, after which years have more than four digits.
const LAST: Duration = Duration::from_millis(253_402_300_799_999);

/// Formats a time in UTC with milliseconds, such as `2026-11-22T15:50:17.042Z`. A time before 1970 or after 9999 is replaced by the nearest
/// time in that range.
pub fn rfc3339(time: SystemTime) -> String {
    let time = time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST);
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stay_within_four_digits_of_a_year() {
        let second = Duration::from_secs(1);
        for (time, text) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00.000Z"),
            (UNIX_EPOCH - second, "1970-01-01T00:00:00.000Z"),
            (
                UNIX_EPOCH + Duration::from_millis(1_709_164_800_001),
                "2024-02-29T00:00:00.001Z",
            ),
            (UNIX_EPOCH + LAST, "9999-12-31T23:59:59.999Z"),
            (UNIX_EPOCH + LAST + second, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(time), text);
        }
    }
}
