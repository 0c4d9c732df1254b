//! The lines of the file that are most like the search string.

use super::super::lines::{Lines, trim};
use super::fold::is_invisible;

/// How many lines of the search string are compared, and how many of the file are shown.
const COMPARED: usize = 8;
const SHOWN: usize = 5;

/// How much of a line is shown, in bytes.
const CUT: usize = 160;

/// Files that have more lines get no hint.
const LINES: usize = 100_000;

/// How much alike lines have to be to be worth showing, in percent.
const ALIKE: u32 = 55;

/// The pairs of neighbouring bytes that a line has, as a set that may take some for others.
#[derive(Clone, Copy)]
struct Pairs {
    bits: [u64; 8],
    count: u32,
}

impl Pairs {
    fn of(line: &[u8]) -> Self {
        let mut bits = [0; 8];
        let line = trim(line);
        let pairs = line
            .windows(2)
            .filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
        for pair in pairs {
            let hash = u32::from(u16::from_le_bytes(pair)).wrapping_mul(0x9E37_79B1) >> 23;
            if let Some(word) = bits.get_mut(hash as usize / 64) {
                *word |= 1 << (hash % 64);
            }
        }
        let count = bits.iter().map(|word: &u64| word.count_ones()).sum();
        Self { bits, count }
    }

    /// Returns how much a line is like this one or has it, in percent. What it has besides counts little.
    fn likeness(&self, has: &Self) -> u32 {
        let both = self.bits.iter().zip(has.bits);
        let both: u32 = both.map(|(one, other)| (one & other).count_ones()).sum();
        let alike = (100 * both).checked_div(self.count).unwrap_or_default();
        alike.saturating_sub((has.count - both) / 8)
    }
}

/// Shows the lines, with their numbers.
pub(super) fn hint(text: &[u8], search: &str) -> Option<String> {
    let lines = Lines(search.as_bytes());
    let skipped = lines.take_while(|line| line.is_blank()).count();
    let searched: Vec<_> = lines
        .skip(skipped)
        .take(COMPARED)
        .map(|line| Pairs::of(line.text))
        .collect();
    let wanted: u32 = searched.iter().map(|pairs| pairs.count).sum();
    let has: Vec<_> = Lines(text)
        .take(LINES + 1)
        .map(|line| Pairs::of(line.text))
        .collect();
    if wanted == 0 || has.len() > LINES {
        return None;
    }
    // Each line counts by what there is of it.
    let alike = |first: usize| -> u32 {
        let lines = searched.iter().zip(has.iter().skip(first));
        lines
            .map(|(searched, has)| searched.count * searched.likeness(has))
            .sum()
    };
    // Of those that are as much alike, the first.
    let best = (0..has.len()).rev().max_by_key(|first| alike(*first))?;
    if alike(best) < ALIKE * wanted {
        return None;
    }
    let count = Lines(search.as_bytes()).skip(skipped).count();
    Some(shown(text, best, count.min(has.len() - best)))
}

/// Shows lines of the file after so many.
pub(super) fn shown(text: &[u8], before: usize, count: usize) -> String {
    let lines = Lines(text).skip(before).take(count.min(SHOWN));
    let lines = (before + 1..).zip(lines);
    let lines: String = lines
        .map(|(number, line)| format!("\n{number}\t{}", cut(line.text)))
        .collect();
    let noun = match count {
        1 => "line is",
        _ => "lines are",
    };
    let more = match count.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\n({more} more)"),
    };
    format!("The nearest {noun}:{lines}{more}")
}

/// Returns the start of a line, in which characters that are not seen are shown by their numbers.
fn cut(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.get(..CUT + 3).unwrap_or(line));
    let text = text.trim_end_matches(['\r', '\n']);
    let end = text.floor_char_boundary(CUT);
    let start = text.get(..end).unwrap_or_default();
    let mut shown = String::new();
    for char in start.chars() {
        match is_unseen(char) {
            true => shown.push_str(&format!("<U+{:04X}>", u32::from(char))),
            false => shown.push(char),
        }
    }
    if end < text.len() {
        shown.push_str("...");
    }
    shown
}

fn is_unseen(char: char) -> bool {
    is_invisible(char) || (char.is_whitespace() && !matches!(char, ' ' | '\t'))
}
