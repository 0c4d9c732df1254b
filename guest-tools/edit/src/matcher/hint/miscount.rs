//! A character that a line of the search string has more or less often than the file.

use std::collections::BTreeMap;

use super::super::lines::{Lines, trim};
use super::spelling::Spelling;
use super::{NAMED, list};

/// How many hints there are at most.
const HINTS: usize = 3;
/// How many are counted.
const COUNTED: usize = 100;
/// How many lines of the search string are looked for.
const LOOKED_FOR: usize = 256;
/// How many of those that are missing are compared with the lines of the file.
const COMPARED: usize = 8;
/// Lines that have more bytes are not compared.
const LONGEST: usize = 4096;
/// Files that have more lines get no hint.
const LINES: usize = 500_000;
/// How many bytes are compared in all, so that a file in which all lines are nearly alike does not take long.
const EFFORT: usize = 16 * 1024 * 1024;

/// Of a character, a line of the search string has more or less than lines of the file that are the same otherwise.
struct Miscount {
    /// Which of the missing lines it is.
    line: usize,
    char: char,
    searched: usize,
    /// What the first lines of the file have.
    named: Vec<String>,
    /// How many lines there are more.
    more: usize,
}

/// Returns the characters that may be miscounted in the search string.
///
/// A line of it that is not in the file is compared with all that are.
pub(super) fn hint(text: &[u8], search: &str) -> Option<String> {
    let missing = missing(text, search)?;
    let mut miscounts = Vec::new();
    let mut effort = EFFORT;
    for (number, line) in (1..).zip(Lines(text)) {
        let line = trim(line.text);
        if line.is_empty() || line.len() > LONGEST {
            continue;
        }
        let Ok(line) = std::str::from_utf8(line).map(Spelling::of) else {
            continue;
        };
        for (index, searched) in missing.iter().enumerate() {
            if let Some(found) = searched.miscount(&line, &mut effort) {
                note(&mut miscounts, index, found, number);
            }
        }
        if effort == 0 {
            break;
        }
    }
    miscounts.sort_by_key(|miscount| miscount.line);
    let hints: Vec<_> = miscounts.iter().take(HINTS).map(Miscount::hint).collect();
    let mut text = hints.join(". ");
    match miscounts.len() - hints.len() {
        0 => {}
        more => text.push_str(&format!(" (and {more} more)")),
    }
    (!hints.is_empty()).then_some(text)
}

/// Returns the first lines of the search string that are not in the file, white space around them aside. `None` if there are
/// none, or if the file has too many lines.
fn missing<'a>(text: &[u8], search: &'a str) -> Option<Vec<Spelling<'a>>> {
    let lines = search.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && line.len() <= LONGEST);
    let mut missing = BTreeMap::new();
    for (index, line) in lines.take(LOOKED_FOR).enumerate() {
        missing.entry(line.as_bytes()).or_insert((index, line));
    }
    for (index, line) in Lines(text).enumerate() {
        if missing.is_empty() || index == LINES {
            return None;
        }
        missing.remove(trim(line.text));
    }
    let mut missing: Vec<_> = missing.into_values().collect();
    missing.sort_unstable();
    let first = missing.iter().take(COMPARED);
    Some(first.map(|(_, line)| Spelling::of(line)).collect())
}

fn note(miscounts: &mut Vec<Miscount>, line: usize, found: (char, usize, usize), number: usize) {
    let (char, searched, has) = found;
    let named = |has| format!("{has} at line {number}");
    let is_full = miscounts.len() >= COUNTED;
    let known = (miscounts.iter_mut()).find(|known| (known.line, known.char) == (line, char));
    match known {
        Some(known) if known.named.len() < NAMED => known.named.push(named(has)),
        Some(known) => known.more += 1,
        None if !is_full => miscounts.push(Miscount {
            line,
            char,
            searched,
            named: vec![named(has)],
            more: 0,
        }),
        None => {}
    }
}

impl Miscount {
    fn hint(&self) -> String {
        let code = u32::from(self.char);
        let char = match self.char {
            char if char.is_control() => char.escape_default().to_string(),
            char => char.to_string(),
        };
        let lines = list(&self.named, self.more);
        let searched = self.searched;
        format!("Your search has {searched} \"{char}\" (U+{code:04X}); the file has {lines}")
    }
}
