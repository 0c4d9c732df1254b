//! The types that a parameter can have without serde. The macro `#[tool]` knows their names and schemas.

use super::json::{self, Parts, Value};
use super::text;
use super::whole::{Whole, decimal};

/// A type of parameters that is read without serde: a text, a boolean, a number, or a list of one of these.
pub trait Parameter: Sized {
    /// Whether a text without characters is a value.
    const TAKES_EMPTY: bool = false;

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// The value does not fit.
    fn read(value: Value<'_>) -> Result<Self, Mismatch>;
}

/// A value that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the argument, as `[1]`.
    pub(super) place: String,
    pub(super) reason: String,
}

impl From<String> for Mismatch {
    fn from(reason: String) -> Self {
        let place = String::new();
        Self { place, reason }
    }
}

/// Says that a value is of another type.
pub(super) fn mismatch(value: &Value<'_>, expected: &str) -> String {
    let (name, shown) = match value {
        Value::Null => ("null", None),
        Value::Bool(true) => ("boolean `true`", None),
        Value::Bool(false) => ("boolean `false`", None),
        // The host has written whole numbers of up to 64 bits as integers.
        Value::Number(number) => match number.contains(['.', 'e', 'E']) {
            true => ("number ", Some(ticked(number))),
            false => ("integer ", Some(ticked(number))),
        },
        Value::Text(text) => ("string ", Some(quoted(text))),
        Value::Array(_) => ("array", None),
        Value::Object(_) => ("object", None),
    };
    let shown = shown.unwrap_or_default();
    text(&["invalid type: ", name, &shown, ", expected ", expected])
}

fn ticked(number: &str) -> String {
    text(&["`", number, "`"])
}

/// Quotes a text as the `Debug` of Rust does, whose tables of what can be printed are left out.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // The host escapes other control characters wherever a person or a model reads them.
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Reads the JSON in a text that cannot be meant as a text, and passes it on if it is of the wanted kind; else the text.
fn unquoted<T>(
    value: Value<'_>,
    is_wanted: fn(&Value<'_>) -> bool,
    read: impl FnOnce(Value<'_>) -> T,
) -> T {
    match value {
        Value::Text(text) => match json::parse(text.trim()) {
            Ok(inner) if is_wanted(&inner) => read(inner),
            _ => read(Value::Text(text)),
        },
        value => read(value),
    }
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Number(_))
}

impl Parameter for String {
    const TAKES_EMPTY: bool = true;

    fn read(value: Value<'_>) -> Result<Self, Mismatch> {
        match value {
            Value::Text(text) => Ok(text),
            other => Err(mismatch(&other, "a string").into()),
        }
    }
}

impl Parameter for bool {
    fn read(value: Value<'_>) -> Result<Self, Mismatch> {
        match &value {
            Value::Bool(yes) => return Ok(*yes),
            Value::Text(text) if text.trim().eq_ignore_ascii_case("true") => return Ok(true),
            Value::Text(text) if text.trim().eq_ignore_ascii_case("false") => return Ok(false),
            _ => {}
        }
        Err(mismatch(&value, "a boolean").into())
    }
}

fn float(value: Value<'_>) -> Result<f64, Mismatch> {
    unquoted(value, is_number, |value| {
        let number = match &value {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        };
        // A number that is out of range is read as an infinite one.
        number
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| mismatch(&value, "a number").into())
    })
}

impl Parameter for f64 {
    fn read(value: Value<'_>) -> Result<Self, Mismatch> {
        float(value)
    }
}

impl Parameter for f32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "serde rounds in the same way"
    )]
    fn read(value: Value<'_>) -> Result<Self, Mismatch> {
        float(value).map(|value| value as Self)
    }
}

/// Reads an integer that is not below `least` and not above `most`.
fn integer(value: Value<'_>, least: i64, most: u64) -> Result<Whole, Mismatch> {
    let expected = || match (least, most) {
        (0, u64::MAX) => "an integer of 0 or more".to_owned(),
        (i64::MIN, _) => "an integer".to_owned(),
        _ => [
            "an integer from ",
            &decimal(least < 0, least.unsigned_abs()),
            " to ",
            &decimal(false, most),
        ]
        .concat(),
    };
    unquoted(value, is_number, |value| {
        let whole = match &value {
            Value::Number(number) => Whole::read(number),
            _ => None,
        };
        let Some(whole) = whole else {
            return Err(mismatch(&value, &expected()).into());
        };
        let fits = match whole.is_negative {
            true => least < 0 && whole.magnitude <= least.unsigned_abs(),
            false => whole.magnitude <= most,
        };
        if fits {
            return Ok(whole);
        }
        let expected = expected();
        let whole = whole.text();
        Err([
            "invalid value: integer `",
            &whole,
            "`, expected ",
            &expected,
        ]
        .concat()
        .into())
    })
}

/// Implements [`Parameter`] for integers; the bounds are those that an error names.
macro_rules! integers {
    ($($integer:ty: $least:expr, $most:expr;)+) => {$(
        impl Parameter for $integer {
            fn read(value: Value<'_>) -> Result<Self, Mismatch> {
                let whole = integer(value, $least, $most)?;
                let magnitude = i128::from(whole.magnitude);
                let value = if whole.is_negative { -magnitude } else { magnitude };
                // Only on 32 bits, a `usize` or `isize` has other bounds than the error names.
                Self::try_from(value).map_err(|_| {
                    let bits = Self::BITS;
                    format!("invalid value: integer `{value}`, expected an integer of {bits} bits").into()
                })
            }
        }
    )+};
}

integers! {
    i8: i8::MIN.into(), 127;
    i16: i16::MIN.into(), 32_767;
    i32: i32::MIN.into(), 2_147_483_647;
    i64: i64::MIN, i64::MAX.unsigned_abs();
    isize: i64::MIN, i64::MAX.unsigned_abs();
    u8: 0, u8::MAX.into();
    u16: 0, u16::MAX.into();
    u32: 0, u32::MAX.into();
    u64: 0, u64::MAX;
    usize: 0, u64::MAX;
}

impl<T: Parameter> Parameter for Vec<T> {
    fn read(value: Value<'_>) -> Result<Self, Mismatch> {
        let is_array = |value: &Value<'_>| matches!(value, Value::Array(_));
        unquoted(value, is_array, |value| {
            let mut parts = match value {
                Value::Array(text) => Parts::of(text),
                other => return Err(mismatch(&other, "an array").into()),
            };
            let mut list = Self::new();
            while let Some(element) = parts.element() {
                list.push(T::read(element).map_err(|mut mismatch| {
                    let index = ["[", &decimal(false, list.len() as u64), "]"];
                    mismatch.place.insert_str(0, &text(&index));
                    mismatch
                })?);
            }
            Ok(list)
        })
    }
}
