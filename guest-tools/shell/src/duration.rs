//! Durations in Go's grammar: `300ms`, `1.5h`, `2h45m`, `-1s`.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use toolhost_sdk::ToolError;

use crate::invalid;

/// A duration as a model writes it: in Go's grammar, or as a number of seconds, with or without quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument(String);

impl Argument {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// A text that says what is wrong, to follow `invalid timeout "x": `.
    pub(crate) fn parse(&self) -> Result<Parsed, String> {
        parse(self.0.trim())
    }

    /// Says that a number without a unit was most likely meant in milliseconds: in seconds it is more than `most`.
    pub(crate) fn in_milliseconds(&self, most: Duration) -> Option<String> {
        let milliseconds = number(self.0.trim())?;
        let meant = Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?;
        (milliseconds > most.as_secs_f64() && milliseconds >= LIKELY && meant <= most).then(|| {
            let meant = format(meant);
            format!("a number without a unit is seconds; for {milliseconds} milliseconds write \"{meant}\"")
        })
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Argument;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a duration such as \"30s\" or \"1m30s\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Argument, E> {
                Ok(Argument(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Argument, E> {
                Ok(Argument(number.to_string()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Argument, E> {
                Ok(Argument(number.to_string()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Argument, E> {
                Ok(Argument(number.to_string()))
            }
        }

        deserializer.deserialize_any(Written)
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// From so many on, a number is more likely milliseconds than seconds.
const LIKELY: f64 = 10_000.0;

const TOO_LONG: &str = "it is too long";

/// The units of Go and other names that models write, and how many nanoseconds each has.
const UNITS: [(&str, u128); 19] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000), // U+00B5, the micro sign
    ("μs", 1_000), // U+03BC, the Greek letter
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("second", 1_000_000_000),
    ("seconds", 1_000_000_000),
    ("min", 60_000_000_000),
    ("mins", 60_000_000_000),
    ("minute", 60_000_000_000),
    ("minutes", 60_000_000_000),
    ("hr", 3_600_000_000_000),
    ("hour", 3_600_000_000_000),
    ("hours", 3_600_000_000_000),
];

/// Returns which of two arguments was given that say the same, the second one in milliseconds. An empty text is none.
///
/// # Errors
///
/// Both were.
pub(crate) fn one_of(
    (name, argument): (&str, Option<Argument>),
    (other, milliseconds): (&str, Option<Argument>),
) -> Result<Option<Argument>, ToolError> {
    match (given(argument), given(milliseconds)) {
        (Some(_), Some(_)) => Err(invalid(format!("pass {name} or {other}, not both"))),
        (argument, milliseconds) => Ok(argument.or(milliseconds.map(|Argument(text)| {
            Argument(number(&text).map_or(text, |number| format!("{number}ms")))
        }))),
    }
}

/// Returns the argument unless it is an empty text, which models write for none.
pub(crate) fn given(argument: Option<Argument>) -> Option<Argument> {
    argument.filter(|Argument(text)| !text.is_empty())
}

/// What a text in Go's grammar says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A duration greater than zero.
    Positive(Duration),
    /// Zero, or less.
    NotPositive,
}

/// Reads a duration. A number alone has the unit of seconds.
///
/// # Errors
///
/// A text that says what is wrong, to follow `invalid timeout "x": `.
fn parse(text: &str) -> Result<Parsed, String> {
    if let Some(seconds) = number(text) {
        return of_seconds(seconds);
    }
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest.is_empty() {
        return Err(not_a_duration());
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (nanoseconds, after) = component(rest)?;
        total = total.saturating_add(nanoseconds);
        rest = after;
    }
    // As in Go, where a duration is a signed 64-bit number of nanoseconds.
    match i64::try_from(total).map(i64::unsigned_abs) {
        Err(_) => Err(TOO_LONG.to_owned()),
        Ok(nanoseconds) if nanoseconds > 0 && !negative => {
            Ok(Parsed::Positive(Duration::from_nanos(nanoseconds)))
        }
        Ok(_) => Ok(Parsed::NotPositive),
    }
}

/// Reads a number without a unit.
fn number(text: &str) -> Option<f64> {
    let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number = text.bytes().all(is_number).then(|| text.parse().ok());
    number.flatten()
}

fn of_seconds(seconds: f64) -> Result<Parsed, String> {
    if seconds <= 0.0 {
        return Ok(Parsed::NotPositive);
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration.is_zero() => Ok(Parsed::NotPositive),
        Ok(duration) if i64::try_from(duration.as_nanos()).is_ok() => {
            Ok(Parsed::Positive(duration))
        }
        _ => Err(TOO_LONG.to_owned()),
    }
}

/// Reads a number with its unit, and returns its nanoseconds and what follows.
fn component(text: &str) -> Result<(u128, &str), String> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(not_a_duration());
    }
    let name_end = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (name, rest) = rest.split_at(name_end);
    let name = name.trim();
    if name.is_empty() {
        return Err(format!("\"{text}\" has no unit; {}", not_a_duration()));
    }
    let unit = UNITS.iter().find(|(unit, _)| *unit == name);
    let (_, unit) =
        unit.ok_or_else(|| format!("\"{name}\" is not a unit (ns, us, ms, s, m or h)"))?;

    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse().unwrap_or(u128::MAX)
    };
    // More digits than these are less than a nanosecond of an hour.
    let fraction: String = fraction.chars().take(15).collect();
    let scale = 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let fraction = fraction.parse().unwrap_or(0_u128) * unit / scale;
    Ok((whole.saturating_mul(*unit).saturating_add(fraction), rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

fn not_a_duration() -> String {
    "a duration is written like 10s, 500ms or 1m30s".to_owned()
}

/// Writes a duration as Go does: `200ms`, `10s`, `1m30s`, `1h0m0s`.
pub(crate) fn format(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    match nanoseconds {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanoseconds}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanoseconds, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(nanoseconds, 6)),
        _ => {
            let seconds = decimal(nanoseconds % 60_000_000_000, 9);
            let minutes = duration.as_secs() / 60;
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// Returns a measured duration without digits that mean nothing to a reader: whole milliseconds, from a second on tenths of it.
pub(crate) fn rounded(duration: Duration) -> Duration {
    let step = if duration < Duration::from_secs(1) {
        1
    } else {
        100
    };
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(milliseconds / step * step)
}

/// Writes a number divided by a power of ten, without zeros at the end.
fn decimal(number: u128, digits: u32) -> String {
    let scale = 10_u128.pow(digits);
    let fraction = format!("{:0width$}", number % scale, width = digits as usize);
    match fraction.trim_end_matches('0') {
        "" => (number / scale).to_string(),
        fraction => format!("{}.{fraction}", number / scale),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_numbers_as_seconds() {
        let read = |json: &str| serde_json::from_str::<Argument>(json).unwrap().parse();
        for (json, expected) in [
            ("30", Ok(Parsed::Positive(Duration::from_secs(30)))),
            ("0.5", Ok(Parsed::Positive(Duration::from_millis(500)))),
            ("\"30\"", Ok(Parsed::Positive(Duration::from_secs(30)))),
            ("\"-0.5\"", Ok(Parsed::NotPositive)),
            ("\"30s\"", Ok(Parsed::Positive(Duration::from_secs(30)))),
            ("0", Ok(Parsed::NotPositive)),
            ("-3", Ok(Parsed::NotPositive)),
            ("1e-20", Ok(Parsed::NotPositive)),
            ("1e10", Err(TOO_LONG.to_owned())),
            ("1e300", Err(TOO_LONG.to_owned())),
        ] {
            assert_eq!(read(json), expected, "{json}");
        }
        for json in ["true", "[]", "{}"] {
            let error = serde_json::from_str::<Argument>(json).unwrap_err();
            assert!(error.to_string().contains("such as \"30s\""), "{error}");
        }
    }

    #[test]
    fn reads_go_durations() {
        for (text, nanoseconds) in [
            ("5s", 5_000_000_000),
            ("30s", 30_000_000_000),
            ("1478s", 1_478_000_000_000),
            ("+5s", 5_000_000_000),
            ("5.0s", 5_000_000_000),
            ("5.6s", 5_600_000_000),
            ("5.s", 5_000_000_000),
            (".5s", 500_000_000),
            ("1.004s", 1_004_000_000),
            ("100.00100s", 100_001_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12µs", 12_000),
            ("12μs", 12_000),
            ("300ms", 300_000_000),
            ("14m", 840_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("3h30m", 12_600_000_000_000),
            ("2h45m", 9_900_000_000_000),
            ("10.5s4m", 250_500_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("10 s", 10_000_000_000),
            ("2min", 120_000_000_000),
            ("1 hour 30 minutes", 5_400_000_000_000),
            ("9223372036854775807ns", i64::MAX.unsigned_abs()),
            ("0.9223372036854775807h", 3_320_413_933_267),
        ] {
            assert_eq!(
                parse(text),
                Ok(Parsed::Positive(Duration::from_nanos(nanoseconds))),
                "{text}"
            );
        }
        for text in ["0", "+0", "-0", "0s", "0h0m", "-5s", "-1.5h", "0.4ns"] {
            assert_eq!(parse(text), Ok(Parsed::NotPositive), "{text}");
        }
    }

    #[test]
    fn knows_milliseconds_that_were_meant() {
        let hour = Duration::from_hours(1);
        let said = |json: &str| {
            serde_json::from_str::<Argument>(json)
                .unwrap()
                .in_milliseconds(hour)
        };
        let expected = "a number without a unit is seconds; for 30000 milliseconds write \"30s\"";
        assert_eq!(said("30000").as_deref(), Some(expected));
        for json in ["30", "3600", "7200", "3600001", "\"30000s\"", "-30000"] {
            assert_eq!(said(json), None, "{json}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let form = "a duration is written like 10s, 500ms or 1m30s";
        for text in ["", "-", "+", "s", ".", ".s", "-.", "abc", "--5s"] {
            let error = parse(text).unwrap_err();
            assert!(
                error == form || error.contains("is not a unit"),
                "{text}: {error}"
            );
        }
        for text in ["inf", "nan", "1e999s", "e"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse("1m30").unwrap_err(),
            format!("\"30\" has no unit; {form}")
        );
        assert_eq!(
            parse("3d").unwrap_err(),
            "\"d\" is not a unit (ns, us, ms, s, m or h)"
        );
        for text in [
            "9223372036854775808ns",
            "2562048h",
            "99999999999999999999999999999999999999999999h",
        ] {
            assert_eq!(parse(text).unwrap_err(), "it is too long");
        }
    }

    #[test]
    fn writes_durations_as_go_does() {
        for (milliseconds, text) in [
            (0, "0s"),
            (1, "1ms"),
            (200, "200ms"),
            (1_100, "1.1s"),
            (10_000, "10s"),
            (90_000, "1m30s"),
            (120_000, "2m0s"),
            (60_500, "1m0.5s"),
            (3_600_000, "1h0m0s"),
            (3_723_004, "1h2m3.004s"),
        ] {
            assert_eq!(format(Duration::from_millis(milliseconds)), text);
        }
        assert_eq!(format(Duration::from_nanos(1)), "1ns");
        assert_eq!(format(Duration::from_nanos(1_100)), "1.1µs");
        assert_eq!(format(Duration::from_nanos(2_200_000)), "2.2ms");
    }

    #[test]
    fn rounds_what_was_measured() {
        for (microseconds, text) in [
            (999, "0s"),
            (12_345, "12ms"),
            (999_999, "999ms"),
            (1_599_999, "1.5s"),
            (65_043_210, "1m5s"),
        ] {
            assert_eq!(format(rounded(Duration::from_micros(microseconds))), text);
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(nanoseconds in 1..i64::MAX.unsigned_abs()) {
            let duration = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse(&format(duration)), Ok(Parsed::Positive(duration)));
        }

        #[test]
        fn never_panics(text in "[-+.0-9hmsnuµ ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
