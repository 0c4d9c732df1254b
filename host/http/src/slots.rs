//! Connection slots. When they run out, the connection that has been idle the longest is evicted, so that clients which only connect
//! keep no other client out.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// A request is in progress.
const BUSY: u64 = u64::MAX;

/// The connection is being closed to make room.
const EVICTED: u64 = u64::MAX - 1;

/// The fraction of all slots that is evicted at once: one of this many. In a flood of connections without a token, a new client then
/// need not wait for one eviction each.
const BATCH: usize = 32;

/// The connection slots of a server.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    /// How many connections without a token are evicted at once.
    batch: usize,
    taken: Mutex<HashMap<u64, Arc<Client>>>,
    /// A counter of events, by which the idle times of connections are ordered.
    clock: AtomicU64,
    /// Notified when a connection becomes idle, and so can be evicted.
    idled: Notify,
}

/// A connection that has a slot, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    id: u64,
    slots: Arc<ConnectionSlots>,
    client: Arc<Client>,
    _permit: OwnedSemaphorePermit,
}

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct Client {
    slots: Arc<ConnectionSlots>,
    /// Since when it has been idle, by the clock of the slots; or [`BUSY`] or [`EVICTED`].
    state: AtomicU64,
    /// Whether the client has sent a valid token.
    authenticated: AtomicBool,
    /// Whether bytes written for the client are still to be sent.
    write_pending: AtomicBool,
    evicted: CancellationToken,
}

/// A request in progress, until this is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Client>);

impl ConnectionSlots {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(count)),
            batch: (count / BATCH).max(1),
            taken: Mutex::default(),
            clock: AtomicU64::new(0),
            idled: Notify::new(),
        })
    }

    /// Returns how many slots are taken.
    pub(super) fn count(&self) -> usize {
        self.taken().len()
    }

    /// Takes a slot: a free one, else that of an idle connection, else the next one that becomes free.
    pub(super) async fn take(self: &Arc<Self>) -> ConnectionSlot {
        loop {
            let permit = Arc::clone(&self.free).try_acquire_owned();
            let permit = match permit {
                Ok(permit) => permit,
                Err(_) => {
                    let idled = self.idled.notified();
                    let evicted = self.evict();
                    tokio::select! {
                        // Never an error: the semaphore is not closed.
                        Ok(permit) = Arc::clone(&self.free).acquire_owned() => permit,
                        () = idled, if !evicted => continue,
                    }
                }
            };
            let client = Arc::new(Client {
                slots: Arc::clone(self),
                state: AtomicU64::new(self.now()),
                authenticated: AtomicBool::new(false),
                write_pending: AtomicBool::new(false),
                evicted: CancellationToken::new(),
            });
            let id = self.now();
            self.taken().insert(id, Arc::clone(&client));
            return ConnectionSlot {
                id,
                slots: Arc::clone(self),
                client,
                _permit: permit,
            };
        }
    }

    /// Evicts idle connections: several without a token, or else one with a token. Among equals, connections whose replies are sent
    /// go first, and of these the one that has been idle the longest. Returns whether there was an idle connection.
    fn evict(&self) -> bool {
        loop {
            let taken = self.taken();
            let idle = taken.values().filter_map(|client| {
                let since = client.state.load(Ordering::Acquire);
                (since < EVICTED).then_some((client.rank(), since, client))
            });
            let mut idle: Vec<_> = idle.collect();
            idle.sort_unstable_by_key(|(rank, since, _)| (*rank, *since));
            if idle.is_empty() {
                return false;
            }
            let mut gone = 0;
            for ((authenticated, _), since, client) in idle {
                if gone >= self.batch || gone > 0 && authenticated {
                    break;
                }
                gone += usize::from(client.evict(since));
            }
            if gone > 0 {
                return true;
            }
        }
    }

    /// Evicts all idle connections whose replies are sent, because the server stops. A connection that has sent half of a request
    /// counts as idle.
    pub(super) fn evict_idle(&self) {
        for client in self.taken().values() {
            let since = client.state.load(Ordering::Acquire);
            if since < EVICTED && !client.write_pending.load(Ordering::Relaxed) {
                client.evict(since);
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<u64, Arc<Client>>> {
        self.taken.lock()
    }
}

impl ConnectionSlot {
    pub(super) fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.taken().remove(&self.id);
    }
}

impl Client {
    /// Notes that the client has sent a valid token.
    pub(crate) fn mark_authenticated(&self) {
        self.authenticated.store(true, Ordering::Relaxed);
    }

    /// Notes whether bytes written for the client are still to be sent.
    pub(super) fn set_write_pending(&self, pending: bool) {
        self.write_pending.store(pending, Ordering::Relaxed);
    }

    /// Begins a request; `None` if the connection is being closed.
    pub(super) fn begin(self: &Arc<Self>) -> Option<Busy> {
        let begun = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state != EVICTED).then_some(BUSY)
            });
        begun.is_ok().then(|| Busy(Arc::clone(self)))
    }

    /// Evicts the connection if it has been idle since the given time. Returns whether it was evicted.
    fn evict(&self, since: u64) -> bool {
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        let idle = self
            .state
            .compare_exchange(since, EVICTED, set, get)
            .is_ok();
        if idle {
            self.evicted.cancel();
        }
        idle
    }

    /// Waits until the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Returns the order of eviction: the least goes first.
    fn rank(&self) -> (bool, bool) {
        let set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        (set(&self.authenticated), set(&self.write_pending))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.state.store(self.0.slots.now(), Ordering::Release);
        self.0.slots.idled.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_evicted(slot: &ConnectionSlot) -> bool {
        slot.client.evicted.is_cancelled()
    }

    #[tokio::test]
    async fn whoever_has_been_idle_the_longest_makes_room() {
        let slots = ConnectionSlots::new(3);
        let (known, slow, busy) = (slots.take().await, slots.take().await, slots.take().await);
        known.client.mark_authenticated();
        slow.client.mark_authenticated();
        slow.client.set_write_pending(true);
        let request = busy.client.begin().unwrap();
        // A connection with a token has been idle the longest, and no other connection can be evicted.
        let mut next = Box::pin(slots.take());
        assert!(next.as_mut().now_or_never().is_none());
        assert!(is_evicted(&known) && !is_evicted(&slow) && !is_evicted(&busy));
        assert!(
            known.client.begin().is_none(),
            "it goes, and asks for nothing"
        );
        assert!(next.as_mut().now_or_never().is_none(), "until it has gone");
        drop(known);
        let stranger = next.await;
        // A connection without a token is evicted first.
        let mut next = Box::pin(slots.take());
        assert!(next.as_mut().now_or_never().is_none());
        assert!(is_evicted(&stranger) && !is_evicted(&slow));
        drop(stranger);
        let other = next.await;
        let second = other.client.begin().unwrap();
        let third = slow.client.begin().unwrap();
        // No connection is idle, until a request ends.
        let mut next = Box::pin(slots.take());
        assert!(next.as_mut().now_or_never().is_none());
        assert!(![&slow, &busy, &other].into_iter().any(is_evicted));
        drop(request);
        assert!(next.as_mut().now_or_never().is_none());
        assert!(is_evicted(&busy));
        drop(busy);
        let _last = next.await;
        drop((second, third));
    }

    #[tokio::test]
    async fn of_many_strangers_several_go_and_of_others_one() {
        let slots = ConnectionSlots::new(3 * BATCH);
        let mut all = Vec::new();
        for _ in 0..3 * BATCH {
            all.push(slots.take().await);
        }
        // There are two connections without a token, and three could be evicted.
        for slot in &all[2..] {
            slot.client.mark_authenticated();
        }
        let evicted = |all: &[ConnectionSlot]| all.iter().filter(|slot| is_evicted(slot)).count();
        assert!(slots.take().now_or_never().is_none());
        assert_eq!(evicted(&all), 2);
        all.retain(|slot| !is_evicted(slot));
        // The next clients need not wait.
        for _ in 0..2 {
            let slot = slots.take().now_or_never().unwrap();
            slot.client.mark_authenticated();
            all.push(slot);
        }
        assert_eq!(evicted(&all), 0);
        assert!(slots.take().now_or_never().is_none());
        assert_eq!(evicted(&all), 1);
    }

    #[tokio::test]
    async fn at_the_end_only_who_waits_for_something_stays() {
        let slots = ConnectionSlots::new(3);
        let (idle, slow, busy) = (slots.take().await, slots.take().await, slots.take().await);
        slow.client.set_write_pending(true);
        let request = busy.client.begin().unwrap();
        slots.evict_idle();
        assert!(is_evicted(&idle) && !is_evicted(&slow) && !is_evicted(&busy));
        drop(request);
    }

    #[tokio::test]
    async fn places_that_are_given_back_are_taken_without_evicting() {
        let slots = ConnectionSlots::new(1);
        let first = slots.take().await;
        let _busy = first.client.begin().unwrap();
        let mut next = Box::pin(slots.take());
        assert!(next.as_mut().now_or_never().is_none());
        drop(first);
        let second = next.await;
        assert!(!is_evicted(&second));
        assert_eq!(slots.taken().len(), 1);
    }
}
