//! The calls of which a change was dropped, because too many changes waited for the store.

use std::collections::{HashSet, VecDeque};

use tokio::time::Instant;
use toolhost_store::Limits;

use super::answer::Key;

/// The calls, of which it cannot be said whether they ran. They are forgotten as the store forgets ids: by age and by number.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    calls: HashSet<Key>,
    /// When a change of each call was dropped first, oldest first.
    since: VecDeque<(Instant, Key)>,
}

impl Dropped {
    pub(super) fn add(&mut self, key: Key) {
        if self.calls.insert(key.clone()) {
            self.since.push_back((Instant::now(), key));
        }
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.calls.contains(key)
    }

    /// Forgets the calls beyond the limits of a store.
    pub(super) fn forget(&mut self, limits: &Limits) {
        let most = usize::try_from(limits.ids).unwrap_or(usize::MAX);
        while let Some((since, _)) = self.since.front()
            && (self.since.len() > most || since.elapsed() >= limits.tombstone)
        {
            if let Some((_, key)) = self.since.pop_front() {
                self.calls.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(id: &str) -> Key {
        ("a".parse().unwrap(), id.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_forgotten_as_ids_are() {
        let (mut dropped, limits) = (
            Dropped::default(),
            crate::call::Limits::default().of_store(),
        );
        for id in ["1", "2", "1"] {
            dropped.add(key(id));
        }
        tokio::time::advance(limits.tombstone - Duration::from_secs(1)).await;
        dropped.add(key("3"));
        dropped.forget(&limits);
        assert!(
            ["1", "2", "3"]
                .map(key)
                .iter()
                .all(|key| dropped.contains(key))
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        dropped.forget(&limits);
        assert!(!dropped.contains(&key("1")) && !dropped.contains(&key("2")));
        assert!(dropped.contains(&key("3")));
        dropped.add(key("4"));
        dropped.forget(&Limits { ids: 1, ..limits });
        assert!(!dropped.contains(&key("3")) && dropped.contains(&key("4")));
    }
}
