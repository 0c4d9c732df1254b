//! The count of the bytes that a request holds in memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{BYTES, BYTES_EACH, NoRoom, RequestPermit};

/// Bytes that count against the limits until this is dropped.
#[derive(Debug, Default)]
pub struct Held {
    permits: [Option<OwnedSemaphorePermit>; 2],
}

impl Held {
    /// Counts this many bytes more.
    pub fn add(&mut self, place: &RequestPermit, bytes: usize) -> Result<(), NoRoom> {
        let shares = [
            (&place.inner.own, BYTES_EACH),
            (&place.inner.limits.all, BYTES),
        ];
        for (held, (share, most)) in self.permits.iter_mut().zip(shares) {
            let more = take(&share.bytes, bytes).ok_or(NoRoom::Bytes(most))?;
            match held {
                Some(held) => held.merge(more),
                None => *held = Some(more),
            }
        }
        Ok(())
    }
}

fn take(semaphore: &Arc<Semaphore>, count: usize) -> Option<OwnedSemaphorePermit> {
    let count = u32::try_from(count).ok()?;
    Arc::clone(semaphore).try_acquire_many_owned(count).ok()
}
