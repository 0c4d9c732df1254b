//! The saved outputs of one chat.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use super::files::{self, Files};
use super::types::{ChatOutputs, End, OutputStore, SavedOutput};

#[cfg(doc)]
use crate::process::Saved;

/// The facts about an output that an earlier run wrote down at the end of the command.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// How many bytes the command wrote.
    pub(crate) total: u64,
    /// How many of them were saved.
    pub(crate) saved: u64,
    /// Why the other bytes were not saved, if the disk failed.
    pub(crate) failure: Option<String>,
}

impl ChatOutputs {
    pub(super) fn new(store: &Arc<OutputStore>, name: String) -> Self {
        Self {
            store: Arc::downgrade(store),
            files: Arc::clone(&store.files),
            id: store.next_id(),
            name,
            removed: AtomicBool::new(false),
        }
    }

    /// Returns a place for a new output. It has its name at once, and its file from the first byte on.
    pub(crate) fn output(self: &Arc<Self>) -> Arc<SavedOutput> {
        let id = self.store().map_or(0, |store| store.next_id());
        let output = SavedOutput::new(Arc::clone(self), id, files::random_name());
        Arc::new(output)
    }

    /// Returns an output of an earlier run, closed and counted in the quotas, which it may exceed. Blocks on the disk.
    ///
    /// It is [`Saved::Complete`] if it is known that all of it was saved and the file has as many bytes, [`Saved::None`] if its
    /// file is gone, and otherwise [`Saved::Partial`] or [`Saved::Failed`]. Its age, by which it makes room, is that of the last
    /// byte. Reopen a file once only, or it counts twice.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a store does not make such names. Otherwise if the file is a link or was not written by this user, or
    /// the system refuses.
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

    /// Returns an output of an earlier run that goes on, and counts it in the quotas. Blocks on the disk. Resume a file once only.
    ///
    /// # Errors
    ///
    /// As for [`ChatOutputs::reopen`].
    pub(crate) fn resume(self: &Arc<Self>, file: &str) -> io::Result<Arc<SavedOutput>> {
        Files::check_name(file)?;
        let open = self.files.open_to_write(&self.name, file)?;
        let metadata = open.as_ref().map(File::metadata).transpose()?;
        let length = metadata.map_or(0, |metadata| metadata.len());
        let store = self.store();
        let id = store.as_ref().map_or(0, |store| store.next_id());
        let output = SavedOutput::resumed(Arc::clone(self), id, file.to_owned(), length, open);
        let output = Arc::new(output);
        if let Some(store) = store {
            let ledger = || Arc::clone(&output);
            store.ledger().add(id, self.id, length, ledger);
        }
        Ok(output)
    }

    /// Deletes all outputs of the chat and gives its quota back. Outputs that are still being written stop being saved, and all
    /// become [`Saved::None`]. Blocks on the disk, including the write that the thread is doing at the moment.
    ///
    /// # Errors
    ///
    /// If the system refuses to delete. The outputs are [`Saved::None`] all the same, and calling it again tries
    /// again.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // Set before the ledger forgets the chat, so that a later promise sees it.
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

    pub(super) fn store(&self) -> Option<Arc<OutputStore>> {
        self.store.upgrade()
    }
}
