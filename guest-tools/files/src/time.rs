//! Times: as models write them, and as dates.

use std::time::SystemTime;

use crate::refusal::Refusal;

/// Returns the time now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Reads a time such as `90s`, `30m`, `2h`, `7d` or `2w`.
pub(crate) fn milliseconds(name: &str, text: &str) -> Result<u64, Refusal> {
    let units = [
        ("ms", 1),
        ("s", 1_000),
        ("m", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
        ("w", 604_800_000),
    ];
    let text = text.trim();
    let read = units.iter().find_map(|(unit, ms)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(*ms)
    });
    read.ok_or_else(|| {
        Refusal::invalid(format!(
            "{name} must be a time such as \"30m\", \"2h\" or \"7d\", and is {text:?}"
        ))
    })
}

/// Writes a time as RFC 3339 does, in UTC.
pub(crate) fn written(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // The days of the civil calendar, by Howard Hinnant: years begin in March, and eras have 400 of them.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = match month {
        month @ 0..10 => (month + 3, 0),
        month => (month - 9, 1),
    };
    let year = era * 400 + year_of_era + next;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        assert_eq!(milliseconds("t", "2h"), Ok(7_200_000));
        assert_eq!(milliseconds("t", " 30 m"), Ok(1_800_000));
        for wrong in ["", "2", "h", "-1h", "yesterday", "99999999999999999999d"] {
            assert!(milliseconds("t", wrong).is_err(), "{wrong}");
        }
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696_000, "2000-02-29T12:34:56Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(written(ms), expected);
        }
    }
}
