//! Output that is no text.

/// How many odd bytes are always borne: a few words in Latin-1, or a few names that end with NUL, are text.
const BORNE: usize = 16;

/// Returns whether bytes are no text: many of them, and more than a third, are odd: no UTF-8, or control characters that
/// texts do not have.
///
/// Of random bytes more than half are odd, of programs most, of text in Latin-1 and of names that end with NUL few.
pub(crate) fn is_binary(stretches: &[&[u8]]) -> bool {
    let length: usize = stretches.iter().map(|bytes| bytes.len()).sum();
    let odd = stretches.iter().map(|bytes| odd(bytes)).sum::<usize>();
    odd > BORNE.max(length / 3)
}

fn odd(bytes: &[u8]) -> usize {
    // A terminal obeys BEL to CR and ESC.
    let is_odd = |byte: &&u8| matches!(byte, 0..=6 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F);
    let controls = bytes.iter().filter(is_odd).count();
    let invalid = match std::str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(_) => bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum(),
    };
    controls + invalid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_text() {
        for text in [
            "".as_bytes(),
            "plain\x1B[1m ☃\n".as_bytes(),
            b"caf\xE9 cr\xE8me br\xFBl\xE9e",
            b"\xE9t\xE9",
            b"ERR\0",
            &b"./a\0".repeat(1000),
            &[&b"1\n".repeat(1000)[..], b"\0"].concat(),
        ] {
            assert!(!is_binary(&[text]), "{text:?}");
        }
    }

    #[test]
    fn knows_what_is_none() {
        let random: Vec<u8> = (0..=255).rev().filter(|&byte| byte != 0).collect();
        for bytes in [
            &b"\x7FELF\x02\x01\x01\0\0\0".repeat(4),
            &random,
            &b"\xFF\xD8\xFF".repeat(10),
        ] {
            assert!(is_binary(&[b"", bytes]), "{bytes:?}");
        }
    }
}
