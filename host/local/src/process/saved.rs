//! Saved outputs: a capped full copy on disk of everything that a command wrote.
//!
//! Memory keeps the two ends of an output; this keeps the rest, for whoever asks for the middle later. What is on disk
//! is always a prefix of the output: at the first byte that does not fit, or that the disk does not take, saving stops
//! for good. It never stops the command.
//!
//! One thread does all that may wait for a disk, apart from reading, and what it has not written yet is bounded. No
//! descriptor stays open for a named output that is complete, and an output without a byte costs no file.

mod chat;
mod disk;
mod files;
mod handover;
mod ledger;
mod output;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;

pub(crate) use chat::{ChatOutputs, Known};
pub(crate) use output::{Location, SavedOutput};

use files::Files;
use ledger::Ledger;
use toolhost_state::state_dir::StateDir;
use writer::Writer;

/// How many bytes may be on the way to the disk, over all outputs.
const IN_FLIGHT: usize = 2 * 1024 * 1024;

/// How long an output waits for its turn before the disk counts as hung, and saving that output is given up.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many bytes of output may be saved. Beyond a chat's and the total limit, the oldest outputs that are closed make
/// room; what still does not fit is not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveLimits {
    /// The most bytes of one process: 64 MiB by default.
    pub per_process: u64,
    /// The most bytes of all processes of one chat: 1 GiB by default.
    pub per_chat: u64,
    /// The most bytes in all: 10 GiB by default.
    pub total: u64,
}

impl Default for SaveLimits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            per_process: 64 * MIB,
            per_chat: 1024 * MIB,
            total: 10 * 1024 * MIB,
        }
    }
}

/// Where outputs are saved.
#[derive(Debug)]
pub(crate) enum OutputLocation {
    /// In the directory `output` of this state directory, under random names: one directory for a chat, one file for an
    /// output. They outlive this process and can be found again.
    Directory(StateDir),
    /// In a directory of their own in this one, which is removed with the store or by [`Store::remove_temporary`]. A host that
    /// is killed leaves it behind; nobody but its user can read it.
    Temporary(PathBuf),
}

/// The saved outputs of all chats.
#[derive(Debug)]
pub(crate) struct Store {
    files: Arc<Files>,
    limits: SaveLimits,
    ledger: Mutex<Ledger<Arc<SavedOutput>>>,
    /// A permit for every byte that may still be handed to the writer.
    room: Arc<Semaphore>,
    writer: Writer,
    next_id: AtomicU64,
}

impl Store {
    /// Opens the place and starts the thread that writes. The thread ends, with its queue written, when the store is
    /// dropped.
    ///
    /// # Errors
    ///
    /// If the directory cannot be used or the thread cannot be started.
    pub(crate) fn new(place: OutputLocation, limits: SaveLimits) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            files: Arc::new(Files::open(place)?),
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
    /// The first of what the system refused. The other directories are gone all the same.
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
    fn evict(&self, outputs: Vec<Arc<SavedOutput>>) {
        for output in outputs {
            output.mark_removed();
            self.writer.run(move || output.delete());
        }
    }

    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Never locked together with the state of an output.
    /// Returns how many bytes of outputs are saved, or promised to be.
    pub(crate) fn bytes(&self) -> u64 {
        self.ledger().total()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger<Arc<SavedOutput>>> {
        self.ledger.lock()
    }
}
