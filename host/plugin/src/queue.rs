//! Places of which there are few, and of which it is known how many wait for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hands out places in the order of asking.
#[derive(Debug)]
pub(super) struct Queue {
    places: Arc<Semaphore>,
    waiting: AtomicU64,
}

impl Queue {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(places)),
            waiting: AtomicU64::new(0),
        })
    }

    /// Waits for a place. `None`: there are none any more.
    pub(super) async fn place(self: Arc<Self>) -> Option<OwnedSemaphorePermit> {
        let _waiting = Waiting::new(&self.waiting);
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Returns how many wait at this moment.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// One that waits, until it has its place or gives up.
struct Waiting<'a>(&'a AtomicU64);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_is_counted_until_it_gives_up() {
        let queue = Queue::new(1);
        let place = Arc::clone(&queue).place().await;
        assert_eq!(queue.waiting(), 0);
        let mut second = Box::pin(Arc::clone(&queue).place());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        let mut third = Box::pin(Arc::clone(&queue).place());
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        assert_eq!(queue.waiting(), 2);
        drop(third);
        assert_eq!(queue.waiting(), 1);
        drop(place);
        assert!(second.await.is_some());
        assert_eq!(queue.waiting(), 0);
    }
}
