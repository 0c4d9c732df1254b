//! One saved output: its state, and the operations on it.

use std::fs::File;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::timeout;
use toolhost_store::OutputFile;

use super::types::{ChatOutputs, End, SavedOutput, State};
use crate::process::Saved;

/// How long to wait for bytes that are on their way to the disk.
const SETTLE: Duration = Duration::from_secs(1);

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

    pub(super) fn resumed(
        chat: Arc<ChatOutputs>,
        id: u64,
        name: String,
        length: u64,
        file: Option<File>,
    ) -> Self {
        let state = State {
            accepted: length,
            written: length,
            file: file.map(Arc::new),
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            ..Self::new(chat, id, name)
        }
    }

    /// Stops saving, because bytes are missing that come next. Nothing more is accepted.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(End::Limit);
        }
    }

    /// Adds bytes to the end, and waits until they are on their way to the disk. Past a limit, only the bytes that fit are taken.
    ///
    /// If there is no room for them within 1 s, the disk counts as hung: they are given up, and saving stops with
    /// [`Saved::Failed`]. Once saving has stopped it returns at once. To be called by one task at a time.
    ///
    /// Not cancel safe: bytes of a dropped future are lost. It is dropped only with the runtime, when the host ends.
    pub(crate) async fn append(self: &Arc<Self>, bytes: Bytes) {
        if let Some(store) = self.chat.store() {
            let bytes = self.accept(&store, bytes);
            self.hand_over(&store, bytes).await;
        } else if self.state().takes_more() && !bytes.is_empty() {
            self.fail("the store of outputs was shut down".to_owned());
        }
    }

    /// Returns whether bytes may still be appended. Once it is false, it stays so.
    pub(crate) fn takes_more(&self) -> bool {
        let state = self.state();
        state.takes_more() && !self.is_deleted(&state)
    }

    /// Returns how much of the output is saved, counting accepted bytes that are not written yet.
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

    /// Returns how many bytes from the start are written or on their way. The number falls when bytes are given up, but never
    /// below [`SavedOutput::written`], except that a removed output has none.
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

    /// Waits until all accepted bytes below the cursor `until` are written or given up. While nothing is appended, a hung disk
    /// can block it without limit: the caller sets the time limit. Cancel safe.
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

    /// As [`SavedOutput::settled`], for at most one second: a hung disk may leave bytes on their way.
    pub(crate) async fn settled_soon(&self, until: u64) {
        _ = timeout(SETTLE, self.settled(until)).await;
    }

    /// Reads at most `max` bytes from the cursor `offset` on. The result is short only at the end of the written bytes; a removed
    /// output is empty. Does not wait for bytes that are on their way: [`SavedOutput::settled`] does that.
    ///
    /// # Errors
    ///
    /// If a named file is gone, is a link, was not written by this user, or cannot be read. No error contains a path.
    pub(crate) async fn read(self: &Arc<Self>, offset: u64, max: usize) -> io::Result<Vec<u8>> {
        let output = Arc::clone(self);
        tokio::task::spawn_blocking(move || output.read_now(offset, max))
            .await
            .map_err(io::Error::other)?
    }

    /// Ends the output: bytes that are appended later are dropped. From now on the output may have to make room for newer
    /// outputs. A named file holds no descriptor once everything is written.
    pub(crate) fn close(self: &Arc<Self>) {
        let may_have_file = {
            let mut state = self.state();
            if std::mem::replace(&mut state.closed, true) {
                return;
            }
            state.accepted > 0 || state.end.is_some()
        };
        let Some(store) = self.chat.store() else {
            return;
        };
        store.ledger().close(self.id, SystemTime::now());
        // Without bytes, no file was made.
        if may_have_file {
            let output = Arc::clone(self);
            store.writer.run(move || output.drop_file_if_done());
        }
    }

    /// Makes the status [`Saved::None`], gives the quota back, and has the file deleted after the writes that are under way.
    /// Does not wait for the disk. Reads that are under way are completed.
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

    /// Returns the location of the file, which is known before the file exists.
    pub(crate) fn location(&self) -> OutputFile {
        OutputFile {
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
