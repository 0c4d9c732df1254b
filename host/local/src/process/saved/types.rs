//! The types of saved outputs: the store of all chats, the outputs of one chat, and one output. Each names the others.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use super::files::Files;
use super::ledger::Ledger;
use super::writer::Writer;

/// How many bytes of output may be saved. Beyond a chat's and the total limit, the oldest outputs that are closed make
/// room; bytes that still do not fit are not saved.
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

/// The saved outputs of all chats.
#[derive(Debug)]
pub(crate) struct OutputStore {
    pub(super) files: Arc<Files>,
    pub(super) limits: SaveLimits,
    pub(super) ledger: Mutex<Ledger<Arc<SavedOutput>>>,
    /// A permit for every byte that may still be handed to the writer.
    pub(super) room: Arc<Semaphore>,
    pub(super) writer: Writer,
    pub(super) next_id: AtomicU64,
}

/// The place of a chat's outputs. It has no directory before the first byte of the first output.
///
/// It does not keep the store alive: without the store no more bytes are saved, and saved bytes can still be read.
#[derive(Debug)]
pub(crate) struct ChatOutputs {
    pub(super) store: Weak<OutputStore>,
    pub(super) files: Arc<Files>,
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) removed: AtomicBool,
}

/// The copy of one output on disk. Lives, and holds its quota, until it is removed, makes room, or its chat is removed;
/// dropping this does not delete the file.
#[derive(Debug)]
pub(crate) struct SavedOutput {
    pub(super) chat: Arc<ChatOutputs>,
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) state: Mutex<State>,
    /// Notified whenever bytes were written or given up.
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Bytes that are written or on their way. Bytes that are given up are subtracted again.
    pub(super) accepted: u64,
    pub(super) written: u64,
    /// Why nothing more is accepted, unless the reason is that it is closed.
    pub(super) end: Option<End>,
    pub(super) closed: bool,
    pub(super) file: Option<Arc<File>>,
}

/// Why saving stopped.
#[derive(Debug)]
pub(super) enum End {
    /// A limit was reached. The accepted bytes are still written.
    Limit,
    /// The disk refused the bytes. The queued bytes are given up.
    Failed(String),
    /// The output is deleted.
    Removed,
}

impl State {
    /// Returns whether bytes may still be appended.
    pub(super) fn takes_more(&self) -> bool {
        self.end.is_none() && !self.closed
    }

    /// Returns whether the queued bytes must not be written any more.
    pub(super) fn is_given_up(&self) -> bool {
        matches!(self.end, Some(End::Failed(_) | End::Removed))
    }
}
