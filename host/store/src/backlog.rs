//! The backlog: changes that failed to be stored, and are retried later.

use std::collections::VecDeque;
use std::future::Future;

use parking_lot::Mutex;

use crate::{Answer, StoreError};

/// The most changes that wait. Beyond that, the oldest are dropped.
const MAX_CHANGES: usize = 8192;

/// The most bytes of the changes that wait.
const MAX_BYTES: usize = 64 << 20;

/// How many changes may fail before the rest waits for the next try: the disk takes nothing.
const TRIES: usize = 4;

/// A change that can be retried.
pub trait Change: Clone + Send + Sync {
    /// The store that takes the change.
    type Store: Sync + ?Sized;

    /// Returns whether both changes are of the same record, so that the later one must not overtake the earlier one.
    fn is_of_same(&self, other: &Self) -> bool;

    /// Stores the change.
    fn store(self, store: &Self::Store) -> Answer<'_, ()>;

    /// Returns roughly how many bytes of memory the change takes.
    fn bytes(&self) -> usize;
}

/// Changes that failed to be stored, oldest first.
#[derive(Debug)]
pub struct Backlog<C> {
    waiting: Mutex<Waiting<C>>,
    /// Held by the task that stores the changes.
    storing: tokio::sync::Mutex<()>,
}

/// The result of adding a change to a backlog.
#[derive(Debug)]
pub struct Added<C> {
    /// Whether no other change was waiting.
    pub is_first: bool,
    /// The changes that were dropped to make room.
    pub dropped: Vec<C>,
}

#[derive(Debug)]
struct Waiting<C> {
    changes: VecDeque<(u64, C)>,
    bytes: usize,
    next: u64,
}

impl<C> Default for Backlog<C> {
    fn default() -> Self {
        let waiting = Waiting {
            changes: VecDeque::new(),
            bytes: 0,
            next: 0,
        };
        Self {
            waiting: Mutex::new(waiting),
            storing: tokio::sync::Mutex::default(),
        }
    }
}

impl<C: Change> Backlog<C> {
    /// Stores a change after those that wait, or adds it to the backlog if the store fails. A change whose record is damaged is
    /// dropped. Of several failures in a row, only the first is logged.
    pub async fn store(&self, store: &C::Store, change: C) {
        let storing = async { change.clone().store(store).await };
        match self
            .after(store, |one| one.is_of_same(&change), storing)
            .await
        {
            Ok(()) => {}
            Err(error @ StoreError::Damaged { .. }) => drop_damaged(&error),
            Err(error) => {
                if self.keep(change).is_first {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "the store cannot be written: changes wait in memory and are retried; if the host is killed meanwhile, they are lost"
                    );
                }
            }
        }
    }

    /// Stores the changes that wait, and then does some work that must come after those that `precedes` names.
    ///
    /// # Errors
    ///
    /// The failure of the work. If a change that it must follow still waits: why a change could not be stored.
    pub async fn after<T>(
        &self,
        store: &C::Store,
        precedes: impl Fn(&C) -> bool,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let waits = || self.look(|mut changes| Iterator::any(&mut changes, &precedes));
        // Work on another record does not wait for the task that stores the changes.
        let caught_up = match self.storing.try_lock() {
            Err(_) if !waits() => Ok(()),
            alone => {
                drop(alone);
                self.catch_up(store).await
            }
        };
        match caught_up {
            Err(error) if waits() => Err(error),
            _ => work.await,
        }
    }

    /// Stores the changes that wait, oldest first. If one fails, later changes of other records are tried all the same.
    ///
    /// # Errors
    ///
    /// The first failure, if changes still wait.
    pub async fn catch_up(&self, store: &C::Store) -> Result<(), StoreError> {
        if self.waiting.lock().changes.is_empty() {
            return Ok(());
        }
        let _alone = self.storing.lock().await;
        let (mut failed, mut first, mut from) = (Vec::new(), Ok(()), 0);
        while failed.len() < TRIES {
            let Some((number, change)) = self.waiting.lock().next(from, &failed) else {
                break;
            };
            from = number + 1;
            match change.store(store).await {
                Err(error @ StoreError::Damaged { .. }) => drop_damaged(&error),
                Err(error) => {
                    failed.push(number);
                    let is_late = matches!(error, StoreError::Late { .. });
                    first = first.and(Err(error));
                    if is_late {
                        break;
                    }
                    continue;
                }
                Ok(()) => {}
            }
            // Meanwhile, `keep` may have dropped the change to make room.
            self.waiting.lock().remove(number);
        }
        first
    }

    /// Adds a change, and drops the oldest ones beyond the limits.
    pub fn keep(&self, change: C) -> Added<C> {
        let mut waiting = self.waiting.lock();
        let (is_first, mut dropped) = (waiting.changes.is_empty(), Vec::new());
        while waiting.changes.len() >= MAX_CHANGES
            || waiting.bytes + change.bytes() > MAX_BYTES && !waiting.changes.is_empty()
        {
            dropped.extend(waiting.pop());
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.bytes += change.bytes();
        waiting.changes.push_back((number, change));
        Added { is_first, dropped }
    }

    /// Calls a function with the changes that wait, oldest first.
    pub fn look<T>(&self, look: impl FnOnce(&mut dyn Iterator<Item = &C>) -> T) -> T {
        let waiting = self.waiting.lock();
        look(&mut waiting.changes.iter().map(|(_, change)| change))
    }
}

impl<C: Change> Waiting<C> {
    /// Returns the first change from this number on that is of no record of which an earlier change failed.
    fn next(&self, from: u64, failed: &[u64]) -> Option<(u64, C)> {
        let failed = || {
            self.changes
                .iter()
                .filter(|(number, _)| failed.contains(number))
        };
        let mut later = self.changes.iter().filter(|(number, _)| *number >= from);
        let next = later.find(|(_, change)| !failed().any(|(_, one)| one.is_of_same(change)));
        next.cloned()
    }

    fn remove(&mut self, number: u64) {
        let at = self.changes.iter().position(|(one, _)| *one == number);
        if let Some((_, change)) = at.and_then(|at| self.changes.remove(at)) {
            self.bytes -= change.bytes();
        }
    }

    fn pop(&mut self) -> Option<C> {
        let (_, change) = self.changes.pop_front()?;
        self.bytes -= change.bytes();
        Some(change)
    }
}

/// Logs that a change is dropped, because the record that it would change is damaged.
fn drop_damaged(error: &StoreError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(
        error,
        "a change was dropped: its record in the store is damaged"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// The disk to which the changes of these tests write.
    #[derive(Debug, Default)]
    struct Disk {
        is_full: bool,
        /// Changes of at least so many bytes do not fit; 0: all fit.
        room: usize,
        stored: Vec<u32>,
        refused: usize,
    }

    #[derive(Clone, Debug)]
    struct Number {
        number: u32,
        bytes: usize,
        disk: Arc<Mutex<Disk>>,
    }

    impl Change for Number {
        type Store = ();

        /// Numbers with the same last digit are of the same record.
        fn is_of_same(&self, other: &Self) -> bool {
            self.number % 10 == other.number % 10
        }

        fn store(self, (): &()) -> Answer<'_, ()> {
            let mut disk = self.disk.lock();
            let stored = match (disk.is_full, self.number) {
                (true, _) => Err(StoreError::Full {
                    path: "disk".into(),
                }),
                _ if (1..=self.bytes).contains(&disk.room) => {
                    disk.refused += 1;
                    Err(StoreError::Full {
                        path: "disk".into(),
                    })
                }
                (false, 13) => Err(StoreError::Damaged {
                    path: "store.db".into(),
                    problem: String::new(),
                }),
                (false, number) => {
                    disk.stored.push(number);
                    Ok(())
                }
            };
            Box::pin(async { stored })
        }

        fn bytes(&self) -> usize {
            self.bytes
        }
    }

    #[tokio::test]
    async fn changes_wait_in_order_and_damage_holds_up_no_other() {
        let disk = Arc::new(Mutex::new(Disk::default()));
        let backlog = Backlog::default();
        let change = |number| Number {
            number,
            bytes: 1,
            disk: Arc::clone(&disk),
        };
        backlog.store(&(), change(1)).await;
        disk.lock().is_full = true;
        for number in [2, 13, 3] {
            backlog.store(&(), change(number)).await;
        }
        backlog.catch_up(&()).await.unwrap_err();
        assert_eq!(backlog.look(|changes| changes.count()), 3);
        disk.lock().is_full = false;
        backlog.store(&(), change(4)).await;
        assert_eq!(disk.lock().stored, [1, 2, 3, 4]);
        assert_eq!(backlog.look(|changes| changes.count()), 0);
    }

    /// A later change of the same record waits for the one that does not fit.
    #[tokio::test]
    async fn a_change_that_does_not_fit_holds_up_no_other_record() {
        let disk = Arc::new(Mutex::new(Disk::default()));
        let backlog = Backlog::default();
        let change = |number, bytes| Number {
            number,
            bytes,
            disk: Arc::clone(&disk),
        };
        disk.lock().is_full = true;
        for (number, bytes) in [(1, 100), (11, 1), (2, 1)] {
            backlog.store(&(), change(number, bytes)).await;
        }
        disk.lock().is_full = false;
        disk.lock().room = 50;
        backlog.store(&(), change(3, 1)).await;
        backlog.store(&(), change(21, 1)).await;
        assert_eq!(disk.lock().stored, [2, 3]);
        disk.lock().room = 0;
        backlog.catch_up(&()).await.unwrap();
        assert_eq!(disk.lock().stored, [2, 3, 1, 11, 21]);
    }

    /// If the disk takes nothing, not every change that waits is tried.
    #[tokio::test]
    async fn a_full_disk_is_not_asked_for_every_change() {
        let disk = Arc::new(Mutex::new(Disk::default()));
        let backlog = Backlog::default();
        for number in 0..10 {
            backlog.keep(Number {
                number,
                bytes: 100,
                disk: Arc::clone(&disk),
            });
        }
        disk.lock().room = 50;
        backlog.catch_up(&()).await.unwrap_err();
        assert_eq!(disk.lock().refused, TRIES);
    }

    #[tokio::test]
    async fn the_oldest_of_too_many_are_dropped() {
        let disk = Arc::new(Mutex::new(Disk::default()));
        let backlog = Backlog::default();
        let change = |number, bytes| Number {
            number,
            bytes,
            disk: Arc::clone(&disk),
        };
        assert!(backlog.keep(change(0, 1)).is_first);
        for number in 1..=8192 {
            let added = backlog.keep(change(number, 1));
            let dropped: Vec<_> = added.dropped.iter().map(|change| change.number).collect();
            assert!(!added.is_first && (dropped == [0]) == (number == 8192));
        }
        let first = backlog.look(|changes| changes.next().map(|change| change.number));
        assert_eq!(first, Some(1));
        backlog.keep(change(9000, MAX_BYTES - 1));
        assert_eq!(backlog.look(|changes| changes.count()), 2);
        backlog.catch_up(&()).await.unwrap();
        assert_eq!(disk.lock().stored, [8192, 9000]);
    }
}
