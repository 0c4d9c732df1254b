//! Lines, or bytes, that are looked for as a sequence.

/// A sequence of items that can be found in a stream of items (Knuth, Morris and Pratt). The search compares each item of the
/// stream about twice at most, and finds matches that overlap as well.
#[derive(Debug)]
pub(super) struct Pattern<T> {
    items: Vec<T>,
    /// For every number of items that matched, how many of the last of them are the first ones as well, but not all.
    fallback: Vec<u32>,
}

impl<T: Copy + Eq> Pattern<T> {
    pub(super) fn new(items: impl Iterator<Item = T>) -> Self {
        let mut pattern = Self {
            items: items.collect(),
            fallback: vec![0],
        };
        pattern.fallback.reserve_exact(pattern.items.len());
        let mut matched = 0;
        for index in 1..=pattern.items.len() {
            if index > 1
                && let Some(&item) = pattern.items.get(index - 1)
            {
                matched = pattern.step(matched, item);
            }
            pattern.fallback.push(u32::try_from(matched).unwrap_or(0));
        }
        pattern
    }

    /// Returns how many items there are.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns how many items match, the given one being the last of them, after so many had matched.
    pub(super) fn step(&self, mut matched: usize, item: T) -> usize {
        loop {
            if self.items.get(matched).is_some_and(|next| *next == item) {
                return matched + 1;
            }
            if matched == 0 {
                return 0;
            }
            matched = self
                .fallback
                .get(matched)
                .map_or(0, |&items| items as usize);
        }
    }
}

impl<'a> Pattern<&'a [u8]> {
    /// Returns the longest line.
    pub(super) fn longest(&self) -> &'a [u8] {
        let lines = self.items.iter().copied();
        lines.max_by_key(|line| line.len()).unwrap_or_default()
    }
}
