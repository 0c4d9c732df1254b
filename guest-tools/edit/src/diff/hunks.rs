//! Which lines differ.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Lines of the old version in whose place are lines of the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The most lines of a version between the first and the last that differ for which the least that differs is looked for:
/// there are files for which that takes the square of their lines.
const MAX_LINES: usize = 8_000;

/// Returns what differs, in order.
pub(super) fn hunks(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let (start, old, new) = between(old, new);
    let (olds, news) = (lines(old).count(), lines(new).count());
    let all = || vec![(0..olds, 0..news)];
    let hunks = if olds.max(news) <= MAX_LINES {
        least(old, new)
    } else if olds == news {
        by_place(old, new).unwrap_or_else(all)
    } else {
        all()
    };
    let shift = |range: Range<usize>| range.start + start..range.end + start;
    let hunks = hunks.into_iter().map(|(old, new)| Hunk {
        old: shift(old),
        new: shift(new),
    });
    hunks.collect()
}

/// Leaves out the lines that both begin and end with. Returns how many they begin with, and what is left of each.
fn between<'a>(old: &'a [u8], new: &'a [u8]) -> (usize, &'a [u8], &'a [u8]) {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new);
    let same = same.count();
    let same = old.get(..same).unwrap_or_default();
    // Whole lines, unless one of the two ends there, where the line differs in its line feed.
    let start = memchr::memrchr(b'\n', same).map_or(0, |end| end + 1);
    let first = lines(old.get(..start).unwrap_or_default()).count();
    let old = old.get(start..).unwrap_or_default();
    let new = new.get(start..).unwrap_or_default();
    let same = old.iter().rev().zip(new.iter().rev());
    let same = same.take_while(|(old, new)| old == new).count();
    let tail = old.get(old.len() - same..).unwrap_or_default();
    // A line that both end with begins behind a line feed of both.
    let whole = memchr::memchr(b'\n', tail).map_or(same, |end| end + 1);
    let end = same - whole;
    let without = |text: &'a [u8]| text.get(..text.len() - end).unwrap_or_default();
    (first, without(old), without(new))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

type Pair = (Range<usize>, Range<usize>);

/// Returns the least that differs.
fn least(old: &[u8], new: &[u8]) -> Vec<Pair> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    let hunks = diff.hunks();
    hunks
        .map(|hunk| (range(hunk.before), range(hunk.after)))
        .collect()
}

/// Compares each line with the one in its place; `None` if they differ in too many places to be worth it.
fn by_place(old: &[u8], new: &[u8]) -> Option<Vec<Pair>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (line, (old, new)) in lines(old).zip(lines(new)).enumerate() {
        if old == new {
            continue;
        }
        let full = hunks.len() == MAX_LINES;
        match hunks.last_mut().filter(|last| last.end == line) {
            Some(last) => last.end += 1,
            None if full => return None,
            None => hunks.push(line..line + 1),
        }
    }
    Some(
        hunks
            .into_iter()
            .map(|lines| (lines.clone(), lines))
            .collect(),
    )
}
