//! The way of bytes from a reader of output to the thread that writes.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::timeout;

use super::output::{End, SavedOutput};
use super::{IN_FLIGHT, PATIENCE, Store};

/// The most bytes that are queued at once, so that a long append does not need all the room there is.
const PIECE: usize = IN_FLIGHT / 8;

/// Accepted bytes that are not queued yet. They are queued or given up, even if the future that hands them over is
/// dropped: what comes after them must not take their place.
pub(super) struct Handover<'a> {
    output: &'a Arc<SavedOutput>,
    store: &'a Store,
    rest: Bytes,
}

impl<'a> Handover<'a> {
    pub(super) fn new(output: &'a Arc<SavedOutput>, store: &'a Store, rest: Bytes) -> Self {
        Self {
            output,
            store,
            rest,
        }
    }

    /// Queues everything, piece by piece, as there is room.
    pub(super) async fn run(mut self) {
        while !self.rest.is_empty() {
            let size = self.rest.len().min(PIECE);
            let permits = u32::try_from(size).unwrap_or(u32::MAX);
            let room = Arc::clone(&self.store.room).acquire_many_owned(permits);
            match timeout(PATIENCE, room).await {
                Ok(Ok(room)) if !self.output.state().is_given_up() => {
                    let piece = self.rest.split_to(size);
                    self.output.queue(self.store, piece, room);
                }
                _ => self.give_up(format!(
                    "the disk did not take output within {} s",
                    PATIENCE.as_secs()
                )),
            }
        }
    }

    fn give_up(&mut self, why: String) {
        let lost = std::mem::take(&mut self.rest).len() as u64;
        self.output.fail(why);
        self.output.give_back(lost);
    }
}

impl Drop for Handover<'_> {
    fn drop(&mut self) {
        if self.rest.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.output.state().overdrawn, true) {
            self.give_up("the disk took output more slowly than it came".to_owned());
            return;
        }
        let rest = std::mem::take(&mut self.rest);
        let overdraft = Overdraft(Arc::clone(self.output));
        self.output.queue(self.store, rest, overdraft);
    }
}

/// Bytes that are queued without permits. They are repaid when this is dropped.
struct Overdraft(Arc<SavedOutput>);

impl Drop for Overdraft {
    fn drop(&mut self) {
        self.0.state().overdrawn = false;
    }
}

impl SavedOutput {
    /// Takes the bytes that fit into the limits. With the first that does not, saving stops.
    pub(super) fn accept(self: &Arc<Self>, store: &Store, mut bytes: Bytes) -> Bytes {
        let own_room = {
            let state = self.state();
            if !state.takes_more() || bytes.is_empty() {
                return Bytes::new();
            }
            store.limits.per_process.saturating_sub(state.accepted)
        };
        let wanted = (bytes.len() as u64).min(own_room);
        let output = || Arc::clone(self);
        let (granted, evicted) = store
            .ledger()
            .reserve(self.id, self.chat.id, wanted, output);
        store.evict(evicted);
        let mut state = self.state();
        if state.is_given_up() || self.is_deleted(&state) {
            drop(state);
            store.ledger().release(self.id, granted);
            return Bytes::new();
        }
        state.accepted = state.accepted.saturating_add(granted);
        if granted < bytes.len() as u64 {
            state.end = Some(End::Limit);
            bytes.truncate(usize::try_from(granted).unwrap_or(usize::MAX));
        }
        bytes
    }

    /// Queues bytes for the thread. `room` is dropped when they are written or given up.
    fn queue(self: &Arc<Self>, store: &Store, bytes: Bytes, room: impl Send + 'static) {
        let output = Arc::clone(self);
        store.writer.run(move || {
            output.write_now(&bytes);
            drop(bytes);
            drop(room);
        });
    }
}
