//! The lines of hunks, which both formats have in common.

use super::text::Line;
use crate::matcher::{self, Ending, Hunk, HunkLine, Sign};

/// The beginning of the text that stands behind the last line of a file without an ending. A line of the file can begin with a backslash.
const UNENDED: &str = "\\ No newline";

/// Returns a line of a hunk; `None` if it is none. An empty line stands for one of context that lost its blank.
pub(super) fn sign(text: &str) -> Option<(Sign, &str)> {
    let (sign, rest) = match text.chars().next() {
        None => return Some((Sign::Context, "")),
        Some(' ') => (Sign::Context, 1),
        Some('-') => (Sign::Removed, 1),
        Some('+') => (Sign::Added, 1),
        Some(_) => return None,
    };
    Some((sign, text.get(rest..).unwrap_or_default()))
}

/// Returns whether a line says that the one before has no ending.
pub(super) fn is_unended(text: &str) -> bool {
    text.starts_with(UNENDED)
}

/// Reads the lines of a hunk, which has so many of the old file as it says.
///
/// If it has none of them, they were empty and are lost, so that it adds before the first one.
pub(super) fn fill<'a>(
    hunk: &mut Hunk<'a>,
    old: Option<usize>,
    lines: impl Iterator<Item = Line<'a>>,
) {
    add(hunk, lines);
    if old.is_some_and(|old| old > 0) && hunk.lines.iter().all(|line| line.sign == Sign::Added) {
        hunk.number = hunk.number.map(|number| number.saturating_sub(1));
    }
}

/// Adds lines to a hunk. Where all of them end in the same way, the new ones end as those of the file do.
fn add<'a>(hunk: &mut Hunk<'a>, lines: impl Iterator<Item = Line<'a>>) {
    for line in lines {
        if is_unended(line.text) {
            if let Some(last) = hunk.lines.last_mut() {
                last.line.ending = Ending::None;
                hunk.is_at_end = true;
            }
            continue;
        }
        let Some((sign, text)) = sign(line.text) else {
            continue;
        };
        let ending = match line.has_return {
            true => Ending::CrLf,
            false => Ending::Lf,
        };
        hunk.lines.push(HunkLine {
            sign,
            line: matcher::Line {
                text: text.as_bytes(),
                ending,
            },
        });
    }
}
