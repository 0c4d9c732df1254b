//! One saved output: its state, and what may be asked of it.

use std::fs::File;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::ChatOutputs;
use super::handover::Handover;
use crate::process::Saved;

/// How long what is on its way to the disk is waited for.
const SETTLE: Duration = Duration::from_secs(1);

/// The copy of one output on disk. Lives, and holds its quota, until it is removed, makes room, or its chat is removed;
/// dropping this does not delete the file.
#[derive(Debug)]
pub(crate) struct SavedOutput {
    pub(super) chat: Arc<ChatOutputs>,
    pub(super) id: u64,
    pub(super) name: String,
    state: Mutex<State>,
    /// Told whenever bytes were written or given up.
    pub(super) changed: Notify,
}

/// Where a saved output is, for the journal. Not for models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Location {
    /// The name for [`super::Store::reopen_chat`].
    pub(crate) directory: String,
    /// The name for [`ChatOutputs::reopen`].
    pub(crate) file: String,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Bytes that are written or on their way. Those that are given up are taken off again.
    pub(super) accepted: u64,
    pub(super) written: u64,
    /// Why nothing more is accepted, unless it is for being closed.
    pub(super) end: Option<End>,
    pub(super) closed: bool,
    /// Whether bytes of a cancelled append are queued for which there was no room.
    pub(super) overdrawn: bool,
    pub(super) file: Option<Arc<File>>,
}

/// Why saving stopped.
#[derive(Debug)]
pub(super) enum End {
    /// A limit was reached: what was accepted is still written.
    Limit,
    /// The disk did not take it: what is queued is given up.
    Failed(String),
    /// It is deleted.
    Removed,
}

impl State {
    /// Returns whether bytes may still be appended.
    pub(super) fn takes_more(&self) -> bool {
        self.end.is_none() && !self.closed
    }

    /// Returns whether what is queued is not to be written any more.
    pub(super) fn is_given_up(&self) -> bool {
        matches!(self.end, Some(End::Failed(_) | End::Removed))
    }
}

impl SavedOutput {
    pub(super) fn new(chat: Arc<ChatOutputs>, id: u64, name: String) -> Self {
        Self {
            chat,
            id,
            name,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(super) fn reopened(
        chat: Arc<ChatOutputs>,
        id: u64,
        name: String,
        length: u64,
        end: Option<End>,
    ) -> Self {
        let state = State {
            accepted: length,
            written: length,
            end,
            closed: true,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            ..Self::new(chat, id, name)
        }
    }

    /// Adds bytes to the end, and waits until they are on their way to the disk. Past a limit it takes those that fit.
    ///
    /// If there is no room for them within 1 s, the disk counts as hung: they are given up, and saving stops with
    /// [`Saved::Failed`]. Once saving has stopped it returns at once. To be called by one task at a time.
    ///
    /// Cancel safe: the bytes are taken with the first poll. Those of one dropped future wait in memory for their turn;
    /// if that happens again before they are written, saving stops with [`Saved::Failed`].
    pub(crate) async fn append(self: &Arc<Self>, bytes: Bytes) {
        if let Some(store) = self.chat.store() {
            let bytes = self.accept(&store, bytes);
            Handover::new(self, &store, bytes).run().await;
        } else if self.state().takes_more() && !bytes.is_empty() {
            self.fail("the store of outputs was shut down".to_owned());
        }
    }

    /// Returns whether bytes may still be appended. Once it is false, it stays so.
    pub(crate) fn takes_more(&self) -> bool {
        let state = self.state();
        state.takes_more() && !self.is_deleted(&state)
    }

    /// Returns how much of the output is saved, or will be when what was accepted is written.
    pub(crate) fn status(&self) -> Saved {
        let state = self.state();
        match &state.end {
            Some(End::Removed) => Saved::None,
            _ if self.is_deleted(&state) => Saved::None,
            Some(End::Limit) => Saved::Partial(state.accepted),
            Some(End::Failed(text)) => Saved::Failed(text.clone()),
            None => Saved::Complete,
        }
    }

    /// Returns how many bytes from the start are written or on their way. Falls when bytes are given up, never below
    /// [`SavedOutput::written`], except that a removed output has none.
    pub(crate) fn accepted(&self) -> u64 {
        let state = self.state();
        if self.is_deleted(&state) {
            return 0;
        }
        state.accepted
    }

    /// Returns how many bytes from the start are written, and can be read; none of a removed output.
    pub(crate) fn written(&self) -> u64 {
        let state = self.state();
        if self.is_deleted(&state) {
            return 0;
        }
        state.written
    }

    /// Waits until those bytes below the cursor `until` that were accepted are written or given up. A hung disk can
    /// hold it up for as long as nothing is appended: the caller sets the limit. Cancel safe.
    pub(crate) async fn settled(&self, until: u64) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let state = self.state();
                let settled = state.written >= until.min(state.accepted);
                if settled || state.is_given_up() || self.is_deleted(&state) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// As [`SavedOutput::settled`], for a moment only: on its way is what there is when a disk hangs.
    pub(crate) async fn settled_soon(&self, until: u64) {
        _ = timeout(SETTLE, self.settled(until)).await;
    }

    /// Reads at most `max` bytes from the cursor `offset` on. Short only at the end of what is written; a removed
    /// output is empty. What is on its way is not waited for: [`SavedOutput::settled`] does that.
    ///
    /// # Errors
    ///
    /// If a named file is gone, is a link or not a file that this user wrote, or it cannot be read. No error has a path
    /// in it.
    pub(crate) async fn read(self: &Arc<Self>, offset: u64, max: usize) -> io::Result<Vec<u8>> {
        let output = Arc::clone(self);
        tokio::task::spawn_blocking(move || output.read_now(offset, max))
            .await
            .map_err(io::Error::other)?
    }

    /// Says that nothing will be appended any more; what is appended all the same is dropped. From now on it may have
    /// to make room for newer outputs. A named file holds no descriptor once everything is written.
    pub(crate) fn close(self: &Arc<Self>) {
        if std::mem::replace(&mut self.state().closed, true) {
            return;
        }
        if let Some(store) = self.chat.store() {
            store.ledger().close(self.id, SystemTime::now());
            let output = Arc::clone(self);
            store.writer.run(move || output.drop_file_if_done());
        }
    }

    /// Makes it [`Saved::None`], gives its quota back, and has the file deleted after what is being written at the
    /// moment. Does not wait for the disk. What is being read is read to the end.
    pub(crate) fn remove(self: &Arc<Self>) {
        self.mark_removed();
        let output = Arc::clone(self);
        if let Some(store) = self.chat.store() {
            store.ledger().forget(self.id);
            store.writer.run(move || output.delete());
        } else {
            output.delete();
        }
    }

    /// Returns where it is, from the start and whether it has a file yet or not.
    pub(crate) fn location(&self) -> Location {
        Location {
            directory: self.chat.name.clone(),
            file: self.name.clone(),
        }
    }

    /// Returns whether it was removed, alone or with its chat.
    pub(super) fn is_deleted(&self, state: &State) -> bool {
        matches!(state.end, Some(End::Removed)) || self.chat.is_removed()
    }

    pub(super) fn mark_removed(&self) {
        self.state().end = Some(End::Removed);
        self.changed.notify_waiters();
    }

    /// Never locked together with the ledger.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
