//! The saved outputs of one chat.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use super::Store;
use super::files::{self, Files};
use super::output::{End, SavedOutput};

/// The place of a chat's outputs. It has no directory before the first byte of the first output.
///
/// It does not keep the store alive: once that is dropped nothing is saved any more, and what is saved can still be
/// read.
#[derive(Debug)]
pub(crate) struct ChatOutputs {
    store: Weak<Store>,
    pub(super) files: Arc<Files>,
    pub(super) id: u64,
    pub(super) name: String,
    removed: AtomicBool,
}

/// What an earlier run knew of an output when the command was over.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// How many bytes the command wrote.
    pub(crate) total: u64,
    /// How many of them were saved.
    pub(crate) saved: u64,
    /// Why the others were not, if that was the disk.
    pub(crate) failure: Option<String>,
}

impl ChatOutputs {
    pub(super) fn new(store: &Arc<Store>, name: String) -> Self {
        Self {
            store: Arc::downgrade(store),
            files: Arc::clone(&store.files),
            id: store.next_id(),
            name,
            removed: AtomicBool::new(false),
        }
    }

    /// Returns a place for a new output. It has its name at once and its file with the first byte.
    pub(crate) fn output(self: &Arc<Self>) -> Arc<SavedOutput> {
        let id = self.store().map_or(0, |store| store.next_id());
        let output = SavedOutput::new(Arc::clone(self), id, files::random_name());
        Arc::new(output)
    }

    /// Returns an output of an earlier run, closed and counted in the quotas, which it may exceed. Blocks on the disk.
    ///
    /// What is not `known` of it cannot make it more than [`super::Saved::Partial`]. If it was saved as a whole, and the
    /// file has as much, it is [`super::Saved::Complete`]; without the file that there was, [`super::Saved::None`]. Its age,
    /// by which it makes room, is that of the last byte. A file is to be reopened once only, or it counts twice.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `file` is no name that a store makes. Otherwise if it is a link or not
    /// a file that this user wrote, or the system refuses.
    pub(crate) fn reopen(
        self: &Arc<Self>,
        file: &str,
        known: Option<Known>,
    ) -> io::Result<Arc<SavedOutput>> {
        Files::check_name(file)?;
        let metadata = match self.files.open_again(&self.name, file)? {
            Some(file) => Some(file.metadata()?),
            None => None,
        };
        let length = metadata.as_ref().map_or(0, |metadata| metadata.len());
        let end = match known {
            None if metadata.is_none() => Some(End::Removed),
            Some(known) if metadata.is_none() && known.saved > 0 => Some(End::Removed),
            Some(Known {
                failure: Some(why), ..
            }) => Some(End::Failed(why)),
            Some(known) if length >= known.total => None,
            _ => Some(End::Limit),
        };
        let store = self.store();
        let id = store.as_ref().map_or(0, |store| store.next_id());
        let output = SavedOutput::reopened(Arc::clone(self), id, file.to_owned(), length, end);
        let output = Arc::new(output);
        if let Some(store) = store {
            let last_byte = metadata.and_then(|metadata| metadata.modified().ok());
            let mut ledger = store.ledger();
            ledger.add(id, self.id, length, || Arc::clone(&output));
            ledger.close(id, last_byte.unwrap_or(SystemTime::UNIX_EPOCH));
        }
        Ok(output)
    }

    /// Deletes everything of the chat and gives its quota back. Outputs that are still being written stop being saved,
    /// and all become [`super::Saved::None`]. Blocks on the disk, also for what the thread is writing at the moment.
    ///
    /// # Errors
    ///
    /// If the system refuses to delete. The outputs are [`super::Saved::None`] all the same, and calling it again tries
    /// again.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // Before the ledger forgets: what is promised later sees it.
        self.removed.store(true, Ordering::SeqCst);
        let store = self.store();
        if let Some(store) = &store {
            let outputs = store.ledger().forget_chat(self.id);
            for output in &outputs {
                output.mark_removed();
            }
            // After that, no file of the chat is made any more.
            store.writer.flush();
            for output in &outputs {
                output.drop_file();
            }
        }
        self.files.remove_chat(&self.name)
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::SeqCst)
    }

    pub(super) fn store(&self) -> Option<Arc<Store>> {
        self.store.upgrade()
    }
}
