//! Better guesses for texts with few characters that are not ASCII, as source code has them.
//!
//! The detector is made for pages of the web. On a word or two it takes Japanese for a European language, and a Western one for one of
//! its rarer neighbours.

use encoding_rs::{Encoding, SHIFT_JIS, WINDOWS_1252};

/// Fewer characters that are not ASCII say little about the language.
const FEW: usize = 5;

/// Returns the encoding that bytes most likely have, of which this one is the detector's guess.
pub(super) fn improved(guess: &'static Encoding, bytes: &[u8]) -> &'static Encoding {
    if !guess.is_single_byte() {
        return guess;
    }
    if is_japanese(bytes) {
        return SHIFT_JIS;
    }
    let is_latin = [
        "windows-1250",
        "windows-1254",
        "windows-1257",
        "windows-1258",
        "ISO-8859-",
    ]
    .iter()
    .any(|name| guess.name().starts_with(name));
    let is_few = bytes.iter().filter(|byte| !byte.is_ascii()).count() < FEW;
    if is_latin && is_few && is_western(bytes) {
        return WINDOWS_1252;
    }
    guess
}

/// Returns whether everything but ASCII is Japanese in Shift-JIS, with syllables, or characters next to each other. In Western texts
/// they stand alone.
fn is_japanese(bytes: &[u8]) -> bool {
    let Some(text) = SHIFT_JIS.decode_without_bom_handling_and_without_replacement(bytes) else {
        return false;
    };
    let is_kana = |char: char| matches!(char, '\u{3041}'..='\u{30FF}');
    let is_cjk = |char: char| {
        is_kana(char)
            || matches!(char, '\u{3000}'..='\u{303F}' | '\u{4E00}'..='\u{9FFF}' | '\u{FF01}'..='\u{FF5E}')
    };
    let mut previous = false;
    let mut is_certain = false;
    for char in text.chars() {
        let is_wide = is_cjk(char);
        if !char.is_ascii() && !is_wide {
            return false;
        }
        is_certain |= is_kana(char) || (is_wide && previous);
        previous = is_wide;
    }
    is_certain
}

/// Returns whether it is plausible in windows-1252: no symbol stands before a small letter, but for punctuation.
fn is_western(bytes: &[u8]) -> bool {
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    let is_symbol = |char: char| {
        !char.is_ascii()
            && !char.is_alphabetic()
            && !matches!(
                char,
                '\u{2010}'
                    ..='\u{2026}'
                        | '\u{A0}'
                        | '\u{A1}'
                        | '\u{AB}'
                        | '\u{B0}'
                        | '\u{B7}'
                        | '\u{BB}'
                        | '\u{BF}'
            )
    };
    let mut pairs = text.chars().zip(text.chars().skip(1));
    !pairs.any(|(char, next)| is_symbol(char) && next.is_lowercase())
        && !text.chars().any(|char| matches!(char, '\u{80}'..='\u{9F}'))
}
