//! Beginnings under way, and those of which the database gave no answer.
//!
//! A beginning that the database stored and did not answer names this host, and the call does not run. A repeat at this host may run it. At
//! another host, a repeat would wait for its end for ever, so the host withdraws such beginnings.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use crate::{Key, Shared};

/// How long after its failure a beginning is withdrawn. A database server that was cut off may still commit it after some time.
const UNSURE: Duration = Duration::from_secs(120);

/// The calls that are about to begin, and those of which it is not known whether their beginnings are stored.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    under_way: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    unsure: Mutex<HashMap<Key, (Instant, Vec<Uuid>)>>,
}

/// The right to begin or withdraw a call. While it exists, no other task of this host does either.
pub(crate) struct Turn<'a> {
    beginnings: &'a Beginnings,
    key: Key,
    /// `None` while the task waits.
    right: Option<OwnedMutexGuard<()>>,
}

impl Beginnings {
    /// Waits for the turn at a call. Who comes first has the first turn: a call that is withdrawn again and again, because the database
    /// does not answer, can begin between two attempts.
    pub(crate) async fn turn(&self, key: Key) -> Turn<'_> {
        let mut turn = Turn {
            beginnings: self,
            key: key.clone(),
            right: None,
        };
        let right = Arc::clone(self.under_way.lock().entry(key).or_default());
        turn.right = Some(right.lock_owned().await);
        turn
    }

    /// Returns whether a call is about to begin.
    pub(crate) fn is_under_way(&self, key: &Key) -> bool {
        self.under_way.lock().contains_key(key)
    }
}

impl Turn<'_> {
    /// Notes the attempt of which it is not known whether the beginning is stored; `None`: that is known.
    pub(crate) fn end(self, attempt: Option<Uuid>) {
        let mut unsure = self.beginnings.unsure.lock();
        let Some(attempt) = attempt else {
            unsure.remove(&self.key);
            return;
        };
        let now = Instant::now();
        let known = unsure.entry(self.key.clone());
        let (since, attempts) = known.or_insert_with(|| (now, Vec::new()));
        *since = now;
        attempts.push(attempt);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.right.take();
        let mut under_way = self.beginnings.under_way.lock();
        let right = under_way.get(&self.key);
        // Every task that waits has a reference.
        if right.is_some_and(|right| Arc::strong_count(right) == 1) {
            under_way.remove(&self.key);
        }
    }
}

/// Withdraws beginnings for as long as the store is open. A task of its own, because a database that answers late must not delay the
/// heartbeat.
pub(crate) async fn withdraw(shared: Arc<Shared>) {
    let mut beats = shared.lease.beats();
    loop {
        beats.tick().await;
        shared.withdraw_unsure().await;
    }
}

impl Shared {
    /// Withdraws the beginnings of which the database gave no answer, as far as they are stored.
    async fn withdraw_unsure(&self) {
        let beginnings = &self.beginnings;
        let unsure: Vec<_> = {
            let mut unsure = beginnings.unsure.lock();
            unsure.retain(|_, (since, _)| since.elapsed() < UNSURE);
            let unsure = unsure.iter();
            let unsure = unsure.map(|(key, (_, attempts))| (key.clone(), attempts.clone()));
            unsure.collect()
        };
        for (key, attempts) in unsure {
            let turn = beginnings.turn(key).await;
            if self.running.lock().contains(&turn.key) {
                continue;
            }
            let (chat, call) = &turn.key;
            if let Err(fault) = self.withdraw(chat, call, Some(attempts)).await {
                let error = &fault as &dyn std::error::Error;
                tracing::debug!(error, "a beginning cannot be withdrawn now");
                return;
            }
        }
    }
}
