//! A search string that looks like lines of the file, and has other characters.

use std::collections::VecDeque;

use super::super::lines::{Line, Lines};
use super::fold::{Difference, Folded};
use super::nearest;

/// How many differences are named.
const NAMED: usize = 3;

/// The longest search string that is compared, in lines.
const LINES: usize = 200;

/// Lines of the file that have more bytes look like nothing.
const LONGEST: usize = 4096;

/// Names what differs from the first lines of the file that look like the search string.
pub(super) fn hint(text: &[u8], search: &str) -> Option<String> {
    let mut searched: Vec<_> = search.lines().map(Folded::new).collect();
    while searched.last().is_some_and(Folded::is_empty) {
        searched.pop();
    }
    if searched.len() > LINES || searched.iter().all(Folded::is_empty) {
        return None;
    }
    let mut window = VecDeque::new();
    for (number, line) in (1..).zip(Lines(text)) {
        window.push_back(Folded::new(text_of(line)));
        if window.len() > searched.len() {
            window.pop_front();
        }
        if window.len() == searched.len()
            && let Some(from) = looks_like(&window, &searched)
        {
            let before = number - searched.len();
            let differences = differences(&window, &searched, from, before + 1)?;
            let lines = nearest::shown(text, before, searched.len());
            return Some(format!("{differences}. {lines}"));
        }
    }
    None
}

/// Returns where in its first line the search string begins to look like these lines.
fn looks_like(window: &VecDeque<Folded<'_>>, searched: &[Folded<'_>]) -> Option<usize> {
    let (first, rest) = searched.split_first()?;
    let mut lines = window.iter();
    let has = lines.next()?;
    if rest.is_empty() {
        let last = has.len().checked_sub(first.len())?;
        return (0..=last).find(|from| {
            has.chars()
                .skip(*from)
                .zip(first.chars())
                .all(|(a, b)| a == b)
        });
    }
    let from = has.len().checked_sub(first.len())?;
    if !has.chars().skip(from).eq(first.chars()) {
        return None;
    }
    let last = rest.len() - 1;
    let same = lines.zip(rest).enumerate().all(|(index, (has, searched))| {
        let is_long_enough =
            has.len() == searched.len() || (index == last && has.len() > searched.len());
        is_long_enough && has.chars().zip(searched.chars()).all(|(a, b)| a == b)
    });
    same.then_some(from)
}

fn differences(
    window: &VecDeque<Folded<'_>>,
    searched: &[Folded<'_>],
    from: usize,
    first: usize,
) -> Option<String> {
    let mut named: Vec<(usize, Difference)> = Vec::new();
    let mut more = 0;
    for (index, (has, searched)) in window.iter().zip(searched).enumerate() {
        let from = if index == 0 { from } else { 0 };
        for difference in has.differences(from, searched) {
            if named.iter().any(|(_, known)| *known == difference) {
                continue;
            }
            match named.len() < NAMED {
                true => named.push((first + index, difference)),
                false => more += 1,
            }
        }
    }
    if named.is_empty() {
        return None;
    }
    let texts = named.iter().map(|(line, difference)| {
        let (has, searched) = (
            named_text(&difference.has),
            named_text(&difference.searched),
        );
        format!("Line {line} of the file has {has} where your search string has {searched}")
    });
    let mut text = texts.collect::<Vec<_>>().join(". ");
    if more > 0 {
        text.push_str(&format!(" (and {more} more)"));
    }
    Some(text)
}

fn text_of(line: Line<'_>) -> &str {
    let text = Some(line.text).filter(|text| text.len() <= LONGEST);
    std::str::from_utf8(text.unwrap_or_default()).unwrap_or_default()
}

/// Names the characters of a short text.
fn named_text(text: &str) -> String {
    const CHARS: usize = 4;
    let mut names: Vec<_> = text.chars().take(CHARS).map(name).collect();
    if let [one] = names.as_slice() {
        return one.clone();
    }
    for (char, noun) in [(' ', "blanks"), ('\t', "tabs")] {
        if text.chars().all(|other| other == char) {
            return format!("{} {noun}", text.len());
        }
    }
    if text.chars().nth(CHARS).is_some() {
        names.push("more".to_owned());
    }
    names.join(" and ")
}

fn name(char: char) -> String {
    let code = u32::from(char);
    let what = match char {
        ' ' => return "a blank".to_owned(),
        '\t' => return "a tab".to_owned(),
        '\u{A0}' => "no-break space",
        '\u{202F}' => "narrow no-break space",
        '\u{2002}'..='\u{200A}' => "a space of another width",
        '\u{3000}' => "ideographic space",
        '\u{AD}' => "soft hyphen",
        '\u{200B}' => "zero-width space",
        '\u{200C}' | '\u{200D}' | '\u{2060}' => "zero-width joiner",
        '\u{FEFF}' => "byte order mark",
        '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            "direction control"
        }
        '\u{300}'..='\u{36F}' => "combining accent",
        '\r' => "carriage return",
        char if char.is_control() || char.is_whitespace() => "control character",
        char => return format!("\"{char}\" (U+{code:04X})"),
    };
    format!("U+{code:04X} ({what})")
}
