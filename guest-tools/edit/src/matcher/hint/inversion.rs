//! Search string and replacement that are swapped.

use memchr::memchr_iter;

use super::super::exact::occurrences;
use super::super::windows;
use super::{NAMED, list};

/// What is shorter is likely to be in the file anyway, in characters.
const SHORTEST: usize = 4;

/// Returns the lines where the replacement is found, as a question.
pub(super) fn hint(text: &[u8], replace: &str) -> Option<String> {
    if replace.trim().chars().take(SHORTEST).count() < SHORTEST {
        return None;
    }
    let (named, more) = match first_and_rest(exact_lines(text, replace.as_bytes())) {
        (named, _) if named.is_empty() => {
            first_and_rest(windows::find(text, replace.as_bytes())?.first_lines())
        }
        found => found,
    };
    let lines = list(&named, more);
    Some(format!(
        "Did you swap \"search\" and \"replace\"? Your replace string appears at line {lines}"
    ))
}

fn first_and_rest(mut lines: impl Iterator<Item = usize>) -> (Vec<String>, usize) {
    let named = lines
        .by_ref()
        .take(NAMED)
        .map(|line| line.to_string())
        .collect();
    (named, lines.count())
}

/// Returns the lines, counted from 1, in which this string begins at least once. Occurrences may overlap.
fn exact_lines(text: &[u8], string: &[u8]) -> impl Iterator<Item = usize> {
    let (mut line, mut counted, mut last) = (1, 0, 0);
    occurrences(text, string).filter_map(move |at| {
        let between = text.get(counted..at).unwrap_or_default();
        line += memchr_iter(b'\n', between).count();
        counted = at;
        (std::mem::replace(&mut last, line) != line).then_some(line)
    })
}
