//! The hand-over of bytes from the reader of an output to the thread that writes to the disk.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::types::{End, OutputStore, SavedOutput};

/// The most bytes that are queued for the disk, over all outputs.
pub(super) const IN_FLIGHT: usize = 2 * 1024 * 1024;

/// How long an output waits for room in the queue. After that, the disk counts as hung, and the output is no longer saved.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most bytes of one piece, so that a long append does not need the whole queue.
const PIECE: usize = IN_FLIGHT / 8;

impl SavedOutput {
    /// Accepts and returns the bytes that fit into the limits. At the first byte that does not fit, saving ends.
    pub(super) fn accept(self: &Arc<Self>, store: &OutputStore, mut bytes: Bytes) -> Bytes {
        let own_room = {
            let state = self.state();
            if !state.takes_more() || bytes.is_empty() {
                return Bytes::new();
            }
            store.limits.per_process.saturating_sub(state.accepted)
        };
        let wanted = (bytes.len() as u64).min(own_room);
        let output = || Arc::clone(self);
        let (reserved, evicted) = store
            .ledger()
            .reserve(self.id, self.chat.id, wanted, output);
        store.evict(evicted);
        let mut state = self.state();
        if state.is_given_up() || self.is_deleted(&state) {
            drop(state);
            store.ledger().release(self.id, reserved);
            return Bytes::new();
        }
        state.accepted = state.accepted.saturating_add(reserved);
        if reserved < bytes.len() as u64 {
            state.end = Some(End::Limit);
            bytes.truncate(usize::try_from(reserved).unwrap_or(usize::MAX));
        }
        bytes
    }

    /// Queues accepted bytes, piece by piece, as there is room.
    pub(super) async fn hand_over(self: &Arc<Self>, store: &OutputStore, mut rest: Bytes) {
        while !rest.is_empty() {
            let size = rest.len().min(PIECE);
            let permits = u32::try_from(size).unwrap_or(u32::MAX);
            let room = Arc::clone(&store.room).acquire_many_owned(permits);
            match timeout(PATIENCE, room).await {
                Ok(Ok(room)) if !self.state().is_given_up() => {
                    let (output, piece) = (Arc::clone(self), rest.split_to(size));
                    store.writer.run(move || {
                        output.write_now(&piece);
                        drop((piece, room));
                    });
                }
                _ => {
                    self.fail(format!(
                        "the disk did not take output within {} s",
                        PATIENCE.as_secs()
                    ));
                    self.give_back(rest.len() as u64);
                    return;
                }
            }
        }
    }
}
