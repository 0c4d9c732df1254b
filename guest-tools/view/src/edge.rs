//! Characters that the edge of a window cut in two.

use std::str;

/// Returns how many bytes at the start can be the end of a character.
pub(crate) fn cut_at_start(bytes: &[u8]) -> usize {
    let is_continuation = |byte: &&u8| (0x80..0xC0).contains(*byte);
    bytes.iter().take(3).take_while(is_continuation).count()
}

/// Returns how many bytes at the end are the beginning of a character.
pub(crate) fn cut_at_end(bytes: &[u8]) -> usize {
    let begins = |length: &usize| {
        let end = bytes
            .len()
            .checked_sub(*length)
            .and_then(|at| bytes.get(at..))
            .unwrap_or_default();
        str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3).find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_an_edge_cut_in_two() {
        for cut in 1..3 {
            let (head, tail) = "ab☃".as_bytes().split_at(2 + cut);
            assert_eq!(cut_at_end(head), cut);
            assert_eq!(cut_at_start(tail), 3 - cut);
        }
        assert_eq!(cut_at_end(b"a\xFF"), 0);
        assert_eq!(cut_at_end("☃".as_bytes()), 0);
        assert_eq!(cut_at_start("☃".as_bytes()), 0);
    }
}
