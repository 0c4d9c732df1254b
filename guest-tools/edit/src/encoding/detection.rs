//! Which encoding bytes have, or that they are no text.

mod short;

use std::cmp::Ordering;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use infer::MatcherType;

use super::{Encoding, NotText};

/// How much text the guess of a legacy encoding is based on, in bytes.
const LOOK: usize = 256 << 10;

/// Returns the encoding of a file.
pub(super) fn detect(bytes: &[u8]) -> Result<Encoding, NotText> {
    if let Some(marked) = marked(bytes) {
        return marked;
    }
    if memchr::memchr(0, bytes).is_some() {
        let utf16 = unmarked_utf16(bytes).filter(|_| !is_known_binary(bytes));
        return utf16.ok_or_else(|| NotText::binary(bytes));
    }
    if std::str::from_utf8(bytes).is_ok() || is_damaged_utf8(bytes) {
        return Ok(Encoding::Utf8);
    }
    if is_known_binary(bytes) || has_many_controls(bytes) {
        return Err(NotText::binary(bytes));
    }
    Ok(guess(bytes))
}

/// Returns what the byte order mark says, if there is one that is not UTF-8's.
pub(super) fn marked(bytes: &[u8]) -> Option<Result<Encoding, NotText>> {
    let encoding = match bytes {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => return Some(Err(NotText::Utf32)),
        [0xFF, 0xFE, ..] => Encoding::Utf16Le,
        [0xFE, 0xFF, ..] => Encoding::Utf16Be,
        _ => return None,
    };
    let is_text = encoding
        .decode(bytes)
        .is_some_and(|text| !text.contains('\0'));
    Some(if is_text {
        Ok(encoding)
    } else {
        Err(NotText::binary(bytes))
    })
}

/// Returns which UTF-16 it is, if that is clear without a mark: one order of the bytes gives more white space and more ASCII than the
/// other, and no controls.
fn unmarked_utf16(bytes: &[u8]) -> Option<Encoding> {
    let orders = [Encoding::Utf16Le, Encoding::Utf16Be];
    let [little, big] = orders.map(|order| plainness(order, bytes));
    match little.cmp(&big) {
        Ordering::Greater => Some(Encoding::Utf16Le),
        Ordering::Less => Some(Encoding::Utf16Be),
        Ordering::Equal => None,
    }
}

/// Returns how many characters are white space, and how many are ASCII; `None` if it is no text in this encoding.
fn plainness(encoding: Encoding, bytes: &[u8]) -> Option<(usize, usize)> {
    // Even a text in Chinese has blanks or line feeds.
    const SHARE: usize = 100;
    let text = encoding.decode(bytes)?;
    let is_control = |char: char| char.is_control() && !matches!(char, '\t' | '\n' | '\r' | '\x0C');
    let is_private = |char| matches!(char, '\u{E000}'..='\u{F8FF}' | '\u{FDD0}'..='\u{FDEF}' | '\u{FFFE}' | '\u{FFFF}');
    let is_text = |char: char| !is_control(char) && !is_private(char);
    let blank = text.chars().filter(char::is_ascii_whitespace).count();
    let ascii = text.chars().filter(char::is_ascii).count();
    let is_clear = blank > 0 && ascii * SHARE >= bytes.len() / 2;
    (is_clear && text.chars().all(is_text)).then_some((blank, ascii))
}

/// Returns whether it is UTF-8 but for some bytes: more of it is characters of several bytes than is no text.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk
            .valid()
            .bytes()
            .filter(|byte| (0xC0..).contains(byte))
            .count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
}

/// Returns whether it is no text, although it is said to have this encoding.
pub(super) fn is_binary(bytes: &[u8], encoding: Encoding) -> bool {
    is_known_binary(bytes) || (!encoding.is_marked() && memchr::memchr(0, bytes).is_some())
}

fn is_known_binary(bytes: &[u8]) -> bool {
    let is_text = |kind: infer::Type| {
        kind.matcher_type() == MatcherType::Text
            || ["application/rtf", "application/postscript"].contains(&kind.mime_type())
    };
    infer::get(bytes).is_some_and(|kind| !is_text(kind))
}

/// Returns whether more than one byte in fifty is a control character that texts do not have.
fn has_many_controls(bytes: &[u8]) -> bool {
    let is_control = |byte: &&u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F);
    bytes.iter().filter(is_control).count() * 50 > bytes.len()
}

fn guess(bytes: &[u8]) -> Encoding {
    let first = bytes.iter().position(|byte| !byte.is_ascii());
    let (before, rest) = bytes.split_at(first.unwrap_or_default());
    let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let context = before.get(line.max(before.len().saturating_sub(80))..);
    let end = rest.len().min(LOOK);
    // A character that is cut in two would count against its encoding.
    let end = match memchr::memrchr(b'\n', rest.get(..end).unwrap_or_default()) {
        Some(feed) if end < rest.len() => feed + 1,
        _ => end,
    };
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(context.unwrap_or_default(), false);
    let looked = rest.get(..end).unwrap_or_default();
    detector.feed(looked, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    Encoding::Legacy(short::improved(guess, looked))
}
