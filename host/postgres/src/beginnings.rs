//! Beginnings under way, and those of which the database gave no answer.
//!
//! A beginning that the database stored and did not answer names this host, and the call does not run. A repeat at this host may run it. At
//! another host, a repeat would wait for its end for ever, so the heartbeat withdraws such beginnings.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{Key, Shared};

/// How long after its failure a beginning is withdrawn. A server that was cut off may still commit it after some time.
const UNSURE: Duration = Duration::from_secs(120);

/// The calls that are about to begin, and those of which it is not known whether their beginnings are stored.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    under_way: Mutex<HashSet<Key>>,
    is_over: Notify,
    unsure: Mutex<HashMap<Key, (Instant, Vec<Uuid>)>>,
}

/// The right to begin or withdraw a call. Nobody else at this host does either while it exists.
pub(crate) struct Turn<'a> {
    beginnings: &'a Beginnings,
    key: Key,
}

impl Beginnings {
    /// Waits for the turn at a call.
    pub(crate) async fn turn(&self, key: Key) -> Turn<'_> {
        loop {
            let mut over = std::pin::pin!(self.is_over.notified());
            over.as_mut().enable();
            if self.under_way.lock().insert(key.clone()) {
                return Turn {
                    beginnings: self,
                    key,
                };
            }
            over.await;
        }
    }

    /// Returns whether a call is about to begin.
    pub(crate) fn is_under_way(&self, key: &Key) -> bool {
        self.under_way.lock().contains(key)
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
        let (since, attempts) = unsure
            .entry(self.key.clone())
            .or_insert_with(|| (Instant::now(), Vec::new()));
        *since = Instant::now();
        attempts.push(attempt);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.beginnings.under_way.lock().remove(&self.key);
        self.beginnings.is_over.notify_waiters();
    }
}

impl Shared {
    /// Withdraws the beginnings of which the database gave no answer, as far as they are stored.
    pub(crate) async fn withdraw_unsure(&self) {
        let beginnings = &self.beginnings;
        let unsure: Vec<_> = {
            let mut unsure = beginnings.unsure.lock();
            unsure.retain(|_, (since, _)| since.elapsed() < UNSURE);
            let unsure = unsure.iter();
            unsure
                .map(|(key, (_, attempts))| (key.clone(), attempts.clone()))
                .collect()
        };
        for (key, attempts) in unsure {
            let turn = beginnings.turn(key).await;
            if self.running.lock().contains(&turn.key) {
                continue;
            }
            if let Err(fault) = self
                .withdraw(&turn.key.0, &turn.key.1, Some(attempts))
                .await
            {
                let error = &fault as &dyn std::error::Error;
                tracing::debug!(error, "a beginning cannot be withdrawn now");
                return;
            }
        }
    }
}
