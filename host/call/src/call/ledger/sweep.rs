//! The sweep, in which the ledger forgets. It decides on a copy of the records, so that no call waits for it.

use std::time::Duration;

use parking_lot::MutexGuard;
use tokio::time::Instant;

use super::records::{Calls, Key, Record};
use super::shared::Shared;
use crate::call::Limits;
use crate::call::retention::{EndedCall, Retention, Room, fates};

/// The time between two sweeps, and the time that each known call adds to it.
const EVERY: Duration = Duration::from_secs(60);
const EVERY_CALL: Duration = Duration::from_millis(1);

/// A call that has ended, or will never run, as it was found.
struct Found {
    key: Key,
    at: Instant,
    size: Option<usize>,
}

impl Shared {
    pub(super) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock()
    }

    /// Returns the records. If a sweep is due or there are too many bytes, it first forgets outcomes that are too old or too
    /// many, and ids that are older still.
    pub(super) fn swept(&self) -> MutexGuard<'_, Calls> {
        let mut calls = self.calls();
        let Some(room) = calls.due(&self.limits) else {
            return calls;
        };
        let found = calls.found();
        drop(calls);
        let gone = gone(&found, &self.limits, room);
        let mut calls = self.calls();
        for (found, fate) in gone {
            calls.let_go(&found.key, found.at, fate);
        }
        calls.sweeping = false;
        calls
    }
}

impl Calls {
    /// Returns how much may stay, if a sweep is due.
    fn due(&mut self, limits: &Limits) -> Option<Room> {
        let mut room = Room::of(limits);
        let crowded = self.bytes > room.outcomes || self.ids > room.ids;
        let known = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let every = EVERY + EVERY_CALL * known;
        let is_recent = self.swept.is_some_and(|at| at.elapsed() < every);
        // A call that arrives during a sweep does not begin another.
        if self.sweeping || !crowded && is_recent {
            return None;
        }
        self.sweeping = true;
        self.swept = Some(Instant::now());
        // The sweep frees more than it must, so that not every call from here on begins another.
        for (used, room) in [(self.bytes, &mut room.outcomes), (self.ids, &mut room.ids)] {
            if used > *room {
                *room = *room / 4 * 3;
            }
        }
        Some(room)
    }

    fn found(&self) -> Vec<Found> {
        let past = self.entries.iter().filter_map(|(key, record)| {
            Some(Found {
                at: record.ended()?,
                size: record.size(),
                key: key.clone(),
            })
        });
        past.collect()
    }

    /// Forgets a call, or its outcome, unless something happened to it since it was found.
    fn let_go(&mut self, key: &Key, at: Instant, fate: Retention) {
        let record = self.entries.get(key);
        let Some(record) = record.filter(|record| record.ended() == Some(at)) else {
            return;
        };
        match (fate, record) {
            (Retention::Forgotten, _) => self.forget(key),
            (
                _,
                Record::Ended {
                    digest, tombstone, ..
                },
            ) => {
                let (digest, tombstone) = (*digest, *tombstone);
                // For how long it is remembered counts from here.
                let at = Instant::now();
                self.put(
                    key.clone(),
                    Record::Gone {
                        digest,
                        tombstone,
                        at,
                    },
                );
            }
            _ => {}
        }
    }
}

/// Returns the calls to forget in part or in full.
fn gone<'a>(
    found: &'a [Found],
    limits: &Limits,
    room: Room,
) -> impl Iterator<Item = (&'a Found, Retention)> {
    let now = Instant::now();
    let past = found.iter().enumerate().map(|(number, found)| {
        let past = EndedCall {
            chat: &found.key.0,
            call: &found.key.1,
            age: now.saturating_duration_since(found.at),
            size: found.size,
        };
        // The key gives calls of one moment an order.
        ((&found.key, number), past)
    });
    let fates = fates(past.collect(), limits, room);
    fates
        .into_iter()
        .filter(|(_, fate)| *fate != Retention::Kept)
        .filter_map(|((_, number), fate)| Some((found.get(number)?, fate)))
}
