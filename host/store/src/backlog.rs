//! Changes that a store could not take, and that are stored once it takes changes again.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::{Answer, Store, StoreError};

/// The most changes that wait. The oldest beyond are dropped.
const MAX_CHANGES: usize = 8192;

/// The most bytes of the changes that wait.
const MAX_BYTES: usize = 64 << 20;

/// A change that can be stored later.
pub trait Change: Clone + Send + Sync {
    /// Stores the change.
    fn store(self, store: &dyn Store) -> Answer<'_, ()>;

    /// Returns about how many bytes the change holds.
    fn bytes(&self) -> usize;
}

/// Changes that a store could not take, oldest first.
#[derive(Debug)]
pub struct Backlog<C> {
    waiting: Mutex<Waiting<C>>,
    /// Held by the task that stores them.
    storing: tokio::sync::Mutex<()>,
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
    /// Stores a change behind those that wait, or keeps it until the store takes changes again. A change that meets damage is
    /// dropped. Logs the first failure in a row.
    pub async fn store(&self, store: &dyn Store, change: C) {
        let stored = match self.catch_up(store).await {
            Ok(()) => change.clone().store(store).await,
            Err(error) => Err(error),
        };
        match stored {
            Ok(()) => {}
            Err(error @ StoreError::Damaged { .. }) => drop_damaged(&error),
            Err(error) => {
                if self.keep(change) {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "the store takes no changes now: they are repeated, and lost if the host is killed before"
                    );
                }
            }
        }
    }

    /// Stores the changes that wait, as far as possible.
    ///
    /// # Errors
    ///
    /// If some are left.
    pub async fn catch_up(&self, store: &dyn Store) -> Result<(), StoreError> {
        if self.waiting.lock().changes.is_empty() {
            return Ok(());
        }
        let _alone = self.storing.lock().await;
        loop {
            let Some((number, change)) = self.waiting.lock().changes.front().cloned() else {
                return Ok(());
            };
            match change.store(store).await {
                Err(error @ StoreError::Damaged { .. }) => drop_damaged(&error),
                stored => stored?,
            }
            // The change may have been dropped meanwhile, to make room.
            let mut waiting = self.waiting.lock();
            if waiting.changes.front().is_some_and(|(at, _)| *at == number) {
                waiting.pop();
            }
        }
    }

    /// Keeps a change until the store takes changes again. Returns whether no other change waits.
    pub fn keep(&self, change: C) -> bool {
        let mut waiting = self.waiting.lock();
        let is_first = waiting.changes.is_empty();
        while waiting.changes.len() >= MAX_CHANGES
            || waiting.bytes + change.bytes() > MAX_BYTES && !waiting.changes.is_empty()
        {
            waiting.pop();
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.bytes += change.bytes();
        waiting.changes.push_back((number, change));
        is_first
    }

    /// Looks at the changes that wait, oldest first.
    pub fn look<T>(&self, look: impl FnOnce(&mut dyn Iterator<Item = &C>) -> T) -> T {
        let waiting = self.waiting.lock();
        look(&mut waiting.changes.iter().map(|(_, change)| change))
    }
}

impl<C: Change> Waiting<C> {
    fn pop(&mut self) {
        if let Some((_, change)) = self.changes.pop_front() {
            self.bytes -= change.bytes();
        }
    }
}

/// Logs that a change is dropped. The damaged record says no more than that it is damaged.
fn drop_damaged(error: &StoreError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "a change cannot be stored");
}

#[cfg(test)]
mod tests;
