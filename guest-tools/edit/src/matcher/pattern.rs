//! Lines that are looked for as a sequence.

/// A sequence of lines that can be found in a stream of lines, each of which is looked at about twice at most, whatever they
/// are (Knuth, Morris and Pratt).
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    lines: Vec<&'a [u8]>,
    /// For every number of lines that matched, how many of the last of them are the first ones as well, but not all.
    fallback: Vec<u32>,
}

impl<'a> Pattern<'a> {
    pub(super) fn new(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut pattern = Self {
            lines: lines.collect(),
            fallback: vec![0],
        };
        pattern.fallback.reserve_exact(pattern.lines.len());
        let mut matched = 0;
        for index in 1..=pattern.lines.len() {
            if index > 1
                && let Some(line) = pattern.lines.get(index - 1)
            {
                matched = pattern.step(matched, line);
            }
            pattern.fallback.push(u32::try_from(matched).unwrap_or(0));
        }
        pattern
    }

    /// Returns how many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the longest line.
    pub(super) fn longest(&self) -> &'a [u8] {
        let lines = self.lines.iter().copied();
        lines.max_by_key(|line| line.len()).unwrap_or_default()
    }

    /// Returns how many lines match, the given one being the last of them, after so many had matched.
    pub(super) fn step(&self, mut matched: usize, line: &[u8]) -> usize {
        loop {
            if self.lines.get(matched).is_some_and(|next| *next == line) {
                return matched + 1;
            }
            if matched == 0 {
                return 0;
            }
            matched = self
                .fallback
                .get(matched)
                .map_or(0, |&lines| lines as usize);
        }
    }
}
