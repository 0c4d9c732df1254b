//! The first results of a search, whatever the order in which they are found.

use std::collections::BTreeMap;

/// Keeps the first results, in the order of their keys, until they are so many.
#[derive(Debug)]
pub(super) struct Kept<K, V> {
    items: BTreeMap<K, (V, u64)>,
    /// How many results they are.
    results: u64,
    most: u64,
}

impl<K: Ord, V> Kept<K, V> {
    pub(super) fn new(most: u64) -> Self {
        Self {
            items: BTreeMap::new(),
            results: 0,
            most,
        }
    }

    /// Adds an item that is so many results, unless enough are before it.
    pub(super) fn add(&mut self, key: K, value: V, results: u64) {
        let is_full = self.results >= self.most;
        if is_full
            && self
                .items
                .last_key_value()
                .is_none_or(|(last, _)| *last < key)
        {
            return;
        }
        self.items.insert(key, (value, results));
        self.results += results;
        while let Some(last) = self.items.last_entry()
            && self.results - last.get().1 >= self.most
        {
            self.results -= last.remove().1;
        }
    }

    /// Returns the items in their order, each with its number of results.
    pub(super) fn into_items(self) -> impl Iterator<Item = (K, V, u64)> {
        let items = self.items.into_iter();
        items.map(|(key, (value, results))| (key, value, results))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_ones_are_kept(
            items in prop::collection::btree_map(any::<u16>(), 1u64..4, 0..40),
            order in any::<prop::sample::Index>(),
            most in 0u64..40,
        ) {
            let mut expected = Vec::new();
            let mut before = 0;
            for (key, results) in &items {
                if before < most {
                    expected.push((*key, *results));
                }
                before += results;
            }
            let mut found: Vec<_> = items.into_iter().collect();
            if !found.is_empty() {
                let middle = order.index(found.len());
                found.rotate_left(middle);
            }
            let mut kept = Kept::new(most);
            for (key, results) in found {
                kept.add(key, (), results);
            }
            let kept: Vec<_> = kept.into_items().map(|(key, (), results)| (key, results)).collect();
            prop_assert_eq!(kept, expected);
        }
    }
}
