//! The likeness of two names.

/// Returns the Jaro-Winkler similarity of two names: 1.0 for equal ones, and 0.0 for names without a common byte. The packages for
/// Python and JavaScript compute the same. A crate for it would add more than a kilobyte to every plugin.
///
/// ```
/// assert!(toolhost_sdk::likeness("main.rs", "mian.rs") > 0.9);
/// assert_eq!(toolhost_sdk::likeness("a", "b"), 0.0);
/// ```
#[must_use]
pub fn jaro_winkler(one: &str, other: &str) -> f64 {
    let likeness = jaro(one.as_bytes(), other.as_bytes());
    if likeness <= 0.7 {
        return likeness;
    }
    let pairs = one.bytes().zip(other.bytes()).take(4);
    let common = pairs.take_while(|(a, b)| a == b).count();
    likeness + 0.1 * common as f64 * (1.0 - likeness)
}

fn jaro(one: &[u8], other: &[u8]) -> f64 {
    let reach = (one.len().max(other.len()) / 2).saturating_sub(1);
    let mut places: Vec<(u8, bool)> = other.iter().map(|byte| (*byte, false)).collect();
    let mut matches = Vec::new();
    for (at, byte) in one.iter().enumerate() {
        let near = places.iter_mut().take(at + reach + 1);
        let mut near = near.skip(at.saturating_sub(reach));
        if let Some((_, is_taken)) = near.find(|place| **place == (*byte, false)) {
            *is_taken = true;
            matches.push(*byte);
        }
    }
    let taken = places.iter().filter(|(_, is_taken)| *is_taken);
    let swapped = taken.zip(&matches).filter(|((a, _), b)| a != *b).count() as f64 / 2.0;
    let count = matches.len() as f64;
    match matches.is_empty() {
        true => 0.0,
        false => {
            (count / one.len() as f64 + count / other.len() as f64 + (count - swapped) / count)
                / 3.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeness_of_words_is_that_of_the_literature() {
        for (one, other, expected) in [
            ("martha", "marhta", 0.961),
            ("dwayne", "duane", 0.84),
            ("dixon", "dicksonx", 0.813),
            ("deep", "depth", 0.827),
            ("a", "b", 0.0),
            ("", "a", 0.0),
            ("path", "path", 1.0),
        ] {
            let likeness = jaro_winkler(one, other);
            assert!(
                (likeness - expected).abs() < 0.001,
                "{one} {other}: {likeness}"
            );
        }
    }
}
