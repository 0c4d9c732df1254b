//! Whole numbers in the texts of JSON numbers.

/// A whole number of at most 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole {
    /// Whether it is below 0.
    pub(super) is_negative: bool,
    /// How far it is from 0; at most 2⁶³ for a negative number.
    pub(super) magnitude: u64,
}

impl Whole {
    /// Reads a JSON number, if it is whole and has at most 64 bits: `3`, `1.0` and `2e3`, not `1.5`.
    #[inline(never)]
    pub(super) fn read(number: &str) -> Option<Self> {
        let mut bytes = number.bytes().peekable();
        let is_negative = bytes.next_if_eq(&b'-').is_some();
        // The power of ten of the last digit that was read, and of those that follow it and are 0.
        let (mut magnitude, mut zeros, mut power) = (0_u64, 0_u32, 0_i64);
        let mut is_fraction = false;
        while let Some(byte) = bytes.next_if(|byte| !matches!(byte, b'e' | b'E')) {
            if byte == b'.' {
                is_fraction = true;
                continue;
            }
            power -= i64::from(is_fraction);
            // Zeros count only once another digit follows, or as powers of ten at the end.
            zeros += 1;
            if byte != b'0' {
                magnitude = raised(magnitude, zeros)?.checked_add(u64::from(byte - b'0'))?;
                zeros = 0;
            }
        }
        if magnitude == 0 {
            return Some(Self {
                is_negative: false,
                magnitude,
            });
        }
        power += i64::from(zeros) + exponent(bytes.skip(1))?;
        magnitude = raised(magnitude, u32::try_from(power).ok()?)?;
        let fits = !is_negative || magnitude <= i64::MIN.unsigned_abs();
        fits.then_some(Self {
            is_negative,
            magnitude,
        })
    }

    /// Writes the number in decimal.
    pub(super) fn text(self) -> String {
        decimal(self.is_negative, self.magnitude)
    }
}

/// Reads the exponent behind the `e` of a number; an empty one is 0. `None`: it is out of all bounds.
fn exponent(bytes: impl Iterator<Item = u8>) -> Option<i64> {
    let (mut exponent, mut is_negative) = (0_i64, false);
    for byte in bytes {
        match byte {
            b'-' => is_negative = true,
            b'+' => {}
            digit => {
                exponent = exponent
                    .checked_mul(10)?
                    .checked_add(i64::from(digit - b'0'))?
            }
        }
    }
    Some(if is_negative { -exponent } else { exponent })
}

/// Writes a number in decimal. `to_string` would link the standard library's formatting once more.
#[inline(never)]
pub(crate) fn decimal(is_negative: bool, mut magnitude: u64) -> String {
    let mut digits = Vec::new();
    loop {
        // A digit fits into a byte.
        digits.push(b'0' + (magnitude % 10) as u8);
        magnitude /= 10;
        if magnitude == 0 {
            break;
        }
    }
    if is_negative {
        digits.push(b'-');
    }
    digits
        .iter()
        .rev()
        .map(|digit| char::from(*digit))
        .collect()
}

/// Multiplies with a power of ten.
fn raised(number: u64, power: u32) -> Option<u64> {
    if number == 0 {
        return Some(0);
    }
    number.checked_mul(10_u64.checked_pow(power)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whole_numbers_however_they_are_written() {
        let read = |number| {
            Whole::read(number)
                .map(|whole| i128::from(whole.magnitude) * if whole.is_negative { -1 } else { 1 })
        };
        for (number, value) in [
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("0e99999999999", Some(0)),
            ("7", Some(7)),
            ("-100", Some(-100)),
            ("1.0", Some(1)),
            ("2e3", Some(2000)),
            ("2E+3", Some(2000)),
            ("120e-1", Some(12)),
            ("1.25e2", Some(125)),
            ("0.05e2", Some(5)),
            ("18446744073709551615", Some(u64::MAX.into())),
            ("18446744073709551615.00", Some(u64::MAX.into())),
            ("-9223372036854775808", Some(i64::MIN.into())),
            ("18446744073709551616", None),
            ("-9223372036854775809", None),
            ("1.5", None),
            ("1e-1", None),
            ("1e20", None),
            ("1e99999999999", None),
            ("1e-99999999999", None),
        ] {
            assert_eq!(read(number), value, "{number}");
            let text = Whole::read(number).map(Whole::text);
            assert_eq!(text, value.map(|value| value.to_string()), "{number}");
        }
    }
}
