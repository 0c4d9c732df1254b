//! The store: opening it, making the places of chats, and removing outputs.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use toolhost_store::Outputs;

use super::files::{self, Files};
use super::handover::IN_FLIGHT;
use super::ledger::Ledger;
use super::types::{ChatOutputs, OutputStore, SaveLimits, SavedOutput};
use super::writer::Writer;

impl OutputStore {
    /// Opens the place and starts the thread that writes. The thread ends, with its queue written, when the store is
    /// dropped.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(crate) fn new(place: &Outputs, limits: SaveLimits) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            files: Arc::new(Files::open(place)),
            limits,
            ledger: Mutex::new(Ledger::new(limits.per_chat, limits.total)),
            room: Arc::new(Semaphore::new(IN_FLIGHT)),
            writer: Writer::start()?,
            next_id: AtomicU64::new(0),
        }))
    }

    /// Returns the place of a new chat, which has no directory before its first byte.
    pub(crate) fn chat(self: &Arc<Self>) -> Arc<ChatOutputs> {
        Arc::new(ChatOutputs::new(self, files::random_name()))
    }

    /// Returns the place of a chat of an earlier run, by its name. That its directory is gone is no error. Nothing is
    /// counted before [`ChatOutputs::reopen`].
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no name that a store makes.
    pub(crate) fn reopen_chat(self: &Arc<Self>, name: &str) -> io::Result<Arc<ChatOutputs>> {
        Files::check_name(name)?;
        Ok(Arc::new(ChatOutputs::new(self, name.to_owned())))
    }

    /// Deletes the directories of chats that are not in `keep`: a crash left them, and nothing names them any more. To be
    /// called before anything is saved. Blocks on the disk. Nothing but directories with names that a store makes is
    /// touched.
    ///
    /// # Errors
    ///
    /// The first error of the system. The other directories are gone all the same.
    pub(crate) fn remove_unknown(&self, keep: &HashSet<String>) -> io::Result<()> {
        let mut removed = Ok(());
        for name in self.files.chats()? {
            if !keep.contains(&name) {
                removed = removed.and(self.files.remove_chat(&name));
            }
        }
        removed
    }

    /// Waits until everything that was handed over is written or given up. Blocks on the disk.
    pub(crate) fn flush(&self) {
        self.writer.flush();
    }

    /// Stops the thread that writes, as a hung disk does, until the sender is dropped.
    #[cfg(test)]
    pub(crate) fn hang(&self) -> std::sync::mpsc::Sender<()> {
        let (release, wait) = std::sync::mpsc::channel();
        self.writer.run(move || _ = wait.recv());
        release
    }

    /// Removes everything, if the place is a temporary one.
    pub(crate) fn remove_temporary(&self) {
        self.files.remove_temporary();
    }

    /// Deletes outputs that had to make room.
    pub(super) fn evict(&self, outputs: Vec<Arc<SavedOutput>>) {
        for output in outputs {
            output.mark_removed();
            self.writer.run(move || output.delete());
        }
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns how many bytes of outputs are saved, or promised to be.
    pub(crate) fn bytes(&self) -> u64 {
        self.ledger().total()
    }

    /// Never locked together with the state of an output.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger<Arc<SavedOutput>>> {
        self.ledger.lock()
    }
}
