//! Characters that a model reads and a person does not see.
//!
//! Models read such characters, so a text could tell a model what its human reader never learns: in tag characters, in runs of
//! joiners, or in variation selectors that each stand for four bits. They are shown as `<U+200B>`, so that both read the same.

use std::borrow::Cow;
use std::fmt::Write;

use icu_properties::props::{
    BinaryProperty as _, CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier,
    EnumeratedProperty as _, ExtendedPictographic, GeneralCategory, JoiningType,
    PrependedConcatenationMark,
};

const NON_JOINER: char = '\u{200C}';
const JOINER: char = '\u{200D}';
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// Characters without ink that have no property in common: the Khitan filler, the Braille pattern without dots, and the empty
/// note head.
const BLANK: [char; 3] = ['\u{2800}', '\u{16FE4}', '\u{1D159}'];

/// Returns whether a character has no ink of its own, wherever it stands. Spaces and control characters do not count.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    match GeneralCategory::for_char(c) {
        GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => true,
        GeneralCategory::Format => !PrependedConcatenationMark::for_char(c),
        _ => DefaultIgnorableCodePoint::for_char(c) || BLANK.contains(&c),
    }
}

/// Returns whether a character is invisible and its neighbours do not need it: emoji and some scripts need joiners, and emoji
/// need the selector of their style.
#[must_use]
pub fn is_hidden(previous: Option<char>, c: char, next: Option<char>) -> bool {
    is_invisible(c) && !previous.is_some_and(|previous| is_needed(previous, c, next))
}

/// Returns the first hidden character of a text, and where it is. Control characters do not count.
#[must_use]
pub fn find(text: &str) -> Option<(usize, char)> {
    if text.is_ascii() {
        return None;
    }
    let mut previous = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if is_hidden(previous, c, next) {
            return Some((at, c));
        }
        previous = Some(c);
    }
    None
}

/// Returns a text with its hidden characters, and its control characters but tabs and line feeds, as `<U+200B>`, and how many there
/// are.
#[must_use]
pub fn escape(text: &str) -> (Cow<'_, str>, u64) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    if text.bytes().all(is_plain) {
        return (text.into(), 0);
    }
    let (mut shown, mut count, mut done) = (String::new(), 0, 0);
    let mut previous = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_control = c.is_control() && !matches!(c, '\t' | '\n');
        if is_control || is_hidden(previous, c, next) {
            shown.push_str(text.get(done..at).unwrap_or_default());
            push_escaped(&mut shown, c);
            done = at + c.len_utf8();
            count += 1;
        }
        previous = Some(c);
    }
    if count == 0 {
        return (text.into(), 0);
    }
    shown.push_str(text.get(done..).unwrap_or_default());
    (shown.into(), count)
}

/// Adds a character as `<U+200B>`.
pub(crate) fn push_escaped(text: &mut String, c: char) {
    // A string takes everything.
    _ = write!(text, "<U+{:04X}>", u32::from(c));
}

fn is_needed(previous: char, c: char, next: Option<char>) -> bool {
    let is_next = |fits: fn(char) -> bool| next.is_some_and(fits);
    match c {
        EMOJI_STYLE if previous.is_ascii() => {
            matches!(previous, '0'..='9' | '#' | '*') && next == Some(KEYCAP)
        }
        EMOJI_STYLE => Emoji::for_char(previous),
        JOINER if ends_emoji(previous) => is_next(ExtendedPictographic::for_char),
        // As names of hosts may have them (RFC 5892, appendix A): after a virama, and where letters would join.
        JOINER | NON_JOINER if is_virama(previous) => true,
        // Bengali writes ra, joiner, virama, ya.
        JOINER if is_next(is_virama) => previous.is_alphabetic(),
        JOINER | NON_JOINER => joins_next(previous) && is_next(joins_previous),
        _ => false,
    }
}

fn ends_emoji(c: char) -> bool {
    c == EMOJI_STYLE || ExtendedPictographic::for_char(c) || EmojiModifier::for_char(c)
}

fn is_virama(c: char) -> bool {
    CanonicalCombiningClass::for_char(c) == CanonicalCombiningClass::Virama
}

fn joins_next(c: char) -> bool {
    let joining = JoiningType::for_char(c);
    joining == JoiningType::DualJoining || joining == JoiningType::LeftJoining
}

fn joins_previous(c: char) -> bool {
    let joining = JoiningType::for_char(c);
    joining == JoiningType::DualJoining || joining == JoiningType::RightJoining
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_known_by_their_properties() {
        for hidden in [
            '\u{AD}',
            '\u{34F}',
            '\u{61C}',
            '\u{115F}',
            '\u{1160}',
            '\u{17B4}',
            '\u{180B}',
            '\u{180E}',
            '\u{200B}',
            '\u{200C}',
            '\u{200D}',
            '\u{200E}',
            '\u{2028}',
            '\u{202E}',
            '\u{2060}',
            '\u{2064}',
            '\u{206F}',
            '\u{2800}',
            '\u{3164}',
            '\u{FE00}',
            '\u{FE0F}',
            '\u{FEFF}',
            '\u{FFA0}',
            '\u{FFF0}',
            '\u{FFF9}',
            '\u{16FE4}',
            '\u{1BCA0}',
            '\u{1D159}',
            '\u{1D173}',
            '\u{E0001}',
            '\u{E0041}',
            '\u{E0080}',
            '\u{E01EF}',
            '\u{E0FFF}',
        ] {
            assert!(is_invisible(hidden), "{hidden:?}");
        }
        for seen in [
            'a', ' ', '\u{A0}', 'ä', '\u{301}', '\u{600}', '\u{3000}', '人', '👍',
        ] {
            assert!(!is_invisible(seen), "{seen:?}");
        }
    }

    #[test]
    fn what_is_hidden_is_shown_by_its_number() {
        for (text, shown, count) in [
            ("plain\ttext\n", "plain\ttext\n", 0),
            (
                "\u{E4} \u{65E5} 👨\u{200D}👩",
                "\u{E4} \u{65E5} 👨\u{200D}👩",
                0,
            ),
            ("foo\u{200B}bar", "foo<U+200B>bar", 1),
            ("\u{202E}a\u{FEFF}", "<U+202E>a<U+FEFF>", 2),
            (
                "\u{0}\x07\x0C\x7F\u{85}\r",
                "<U+0000><U+0007><U+000C><U+007F><U+0085><U+000D>",
                6,
            ),
            ("\u{E0041}", "<U+E0041>", 1),
        ] {
            assert_eq!(escape(text), (shown.into(), count));
        }
    }

    #[test]
    fn emoji_and_scripts_keep_what_they_need() {
        for text in [
            "👨\u{200D}👩\u{200D}👧",
            "👩🏽\u{200D}🚀",
            "🏴\u{200D}☠\u{FE0F}",
            "❤\u{FE0F}\u{200D}🔥 and ©\u{FE0F}",
            "1\u{FE0F}\u{20E3}",
            // Persian, Hindi, Bengali and Malayalam.
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "র\u{200D}্য",
            "ന്\u{200D}",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn joiners_and_selectors_carry_no_message() {
        for (text, at) in [
            ("a\u{200D}b", 1),
            ("a\u{200C}b", 1),
            ("\u{200D}👍", 0),
            ("👍\u{200D}", 4),
            ("👍\u{200D}\u{200D}👍", 4),
            ("👍\u{FE0F}\u{FE0F}", 7),
            ("👍\u{FE0E}", 4),
            ("1\u{FE0F}", 1),
            ("a\u{FE0F}", 1),
            ("می\u{200C}\u{200C}خ", 4),
            ("\u{FEFF}text", 0),
        ] {
            assert_eq!(find(text).map(|(at, _)| at), Some(at), "{text:?}");
        }
    }
}
