//! Output that is no text.

/// How many bytes that are no UTF-8 are always borne: a few words in Latin-1 are text.
const BORNE: usize = 16;

/// Returns whether bytes are no text: one of them is NUL, or many, and more than a third, of them are no UTF-8.
///
/// Of random bytes almost half are no UTF-8, of text in Latin-1 few.
pub(crate) fn is_binary(stretches: &[&[u8]]) -> bool {
    if stretches.iter().all(|bytes| is_text(bytes)) {
        return false;
    }
    let has_nul = stretches.iter().any(|bytes| bytes.contains(&0));
    let length: usize = stretches.iter().map(|bytes| bytes.len()).sum();
    let chunks = stretches.iter().flat_map(|bytes| bytes.utf8_chunks());
    has_nul || chunks.map(|chunk| chunk.invalid().len()).sum::<usize>() > BORNE.max(length / 3)
}

/// The same for what is plain text, in less time.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
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
        ] {
            assert!(!is_binary(&[text]), "{text:?}");
        }
    }

    #[test]
    fn knows_what_is_none() {
        let random: Vec<u8> = (0..=255).rev().filter(|&byte| byte != 0).collect();
        for bytes in [&b"a\0"[..], &random, &b"\xFF\xD8\xFF".repeat(10)] {
            assert!(is_binary(&[b"", bytes]), "{bytes:?}");
        }
    }
}
