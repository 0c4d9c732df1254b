//! Whole numbers of requests, which JSON may as well write as `24.0` or `1e3`.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Number;

/// Above this, a number with a point may stand for several integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a whole number.
///
/// # Errors
///
/// If the number has a fraction, or is none that the type has.
pub fn read<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    let number = Number::deserialize(deserializer)?;
    let whole = of(&number).and_then(|whole| T::try_from(whole).ok());
    whole.ok_or_else(|| {
        let value = number.as_f64().unwrap_or(f64::NAN);
        D::Error::invalid_value(
            Unexpected::Float(value),
            &"a whole number within its limits",
        )
    })
}

/// Returns the whole number that a number is.
pub(crate) fn of(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let value = number.as_f64()?;
        let is_whole = value.fract() == 0.0 && (0.0..=EXACT).contains(&value);
        // A number of this size is written with all of its digits.
        is_whole.then(|| value.abs().to_string().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("24.0", Some(24)),
            ("1e3", Some(1000)),
            ("9007199254740992.0", Some(1 << 53)),
            ("18446744073709551615", Some(u64::MAX)),
            ("1e16", None),
            ("0.5", None),
            ("-1", None),
        ] {
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(of(&number), expected, "{text}");
        }
        let read = |text: &str| {
            let mut json = serde_json::Deserializer::from_str(text);
            read::<_, u16>(&mut json).map_err(|error| error.to_string())
        };
        assert_eq!(read("300.0"), Ok(300));
        assert!(
            read("65536")
                .unwrap_err()
                .contains("a whole number within its limits")
        );
        assert!(read("null").is_err());
    }
}
