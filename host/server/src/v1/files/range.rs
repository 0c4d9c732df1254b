//! Ranges of bytes (RFC 9110, section 14): a single one.

use std::ops::Range;

use axum::http::HeaderMap;
use axum::http::header::RANGE;

/// The part of a file that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it. Also if the header is none that this understands, such as several ranges.
    All,
    /// These bytes, which are at least one.
    Part(Range<u64>),
    /// Bytes that the file does not have.
    None,
}

/// Returns the part of a file of this size that a request asks for.
pub(super) fn wanted(headers: &HeaderMap, size: u64) -> Wanted {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Wanted::All;
    };
    let value = value.to_str().unwrap_or_default();
    match value.split_once('=') {
        Some((unit, range)) if unit.trim().eq_ignore_ascii_case("bytes") => {
            of_text(range.trim(), size).unwrap_or(Wanted::All)
        }
        _ => Wanted::All,
    }
}

/// Reads `first-last`, `first-` or `-length`; `None` if it is none of these.
fn of_text(text: &str, size: u64) -> Option<Wanted> {
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number with more digits is beyond any file.
        true => Some(text.parse().unwrap_or(u64::MAX)),
        false => None,
    };
    let (first, last) = text.split_once('-')?;
    let range = match (first, last) {
        ("", "") => return None,
        ("", length) => size.saturating_sub(number(length)?)..size,
        (first, "") => number(first)?..size,
        (first, last) => {
            let (first, last): (u64, u64) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(size)
        }
    };
    Some(match range.is_empty() {
        true => Wanted::None,
        false => Wanted::Part(range),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (text, expected) in [
            ("bytes=0-3", Wanted::Part(0..4)),
            ("Bytes = 0-3", Wanted::Part(0..4)),
            ("bytes=3-", Wanted::Part(3..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=9-99999999999999999999999", Wanted::Part(9..10)),
            ("bytes=10-", Wanted::None),
            ("bytes=99999999999999999999999-", Wanted::None),
            ("bytes=-0", Wanted::None),
            ("bytes=5-4", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("lines=0-1", Wanted::All),
            ("nonsense", Wanted::All),
        ] {
            let headers = HeaderMap::from_iter([(RANGE, text.parse().unwrap())]);
            assert_eq!(wanted(&headers, 10), expected, "{text}");
        }
        assert_eq!(wanted(&HeaderMap::new(), 10), Wanted::All);
        let headers = HeaderMap::from_iter([(RANGE, "bytes=0-".parse().unwrap())]);
        assert_eq!(wanted(&headers, 0), Wanted::None);
    }
}
