//! A queue for a few permits, which tells how many tasks wait for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hands out permits in the order of asking.
#[derive(Debug)]
pub(super) struct Queue {
    permits: Arc<Semaphore>,
    waiting: AtomicU64,
}

impl Queue {
    pub(super) fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(permits)),
            waiting: AtomicU64::new(0),
        })
    }

    /// Waits for a permit. `None` if there will be none any more.
    pub(super) async fn acquire(self: Arc<Self>) -> Option<OwnedSemaphorePermit> {
        let _waiting = Waiting::new(&self.waiting);
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Returns how many tasks wait at this moment.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// A waiting task, counted until it has its permit or gives up.
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
    async fn a_waiting_task_is_counted_until_it_gives_up() {
        let queue = Queue::new(1);
        let permit = Arc::clone(&queue).acquire().await;
        assert_eq!(queue.waiting(), 0);
        let mut second = Box::pin(Arc::clone(&queue).acquire());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        let mut third = Box::pin(Arc::clone(&queue).acquire());
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        assert_eq!(queue.waiting(), 2);
        drop(third);
        assert_eq!(queue.waiting(), 1);
        drop(permit);
        assert!(second.await.is_some());
        assert_eq!(queue.waiting(), 0);
    }
}
