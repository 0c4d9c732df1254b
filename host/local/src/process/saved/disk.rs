//! The operations on one output that block on the disk: writing, reading, and closing the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::types::{End, SavedOutput};

impl SavedOutput {
    /// Writes bytes after those written before. Runs on the thread of the store, which alone writes.
    pub(super) fn write_now(&self, bytes: &[u8]) {
        let (written, result) = match self.file_to_write() {
            Ok(Some((file, offset))) => write_all_at(&file, bytes, offset),
            Ok(None) => (0, Ok(())),
            Err(error) => (0, Err(error)),
        };
        self.state().written += written as u64;
        let lost = (bytes.len() - written) as u64;
        if let Err(error) = result {
            tracing::warn!(%error, "failed to save output");
            self.fail(error.to_string());
        }
        self.give_back(lost);
        self.drop_file_if_done();
    }

    /// Returns the file, made if this is the first byte, and its end as an offset; `None` if nothing more is to be written.
    fn file_to_write(&self) -> io::Result<Option<(Arc<File>, u64)>> {
        {
            let state = self.state();
            if state.is_given_up() || self.is_deleted(&state) {
                return Ok(None);
            }
            if let Some(file) = &state.file {
                return Ok(Some((Arc::clone(file), state.written)));
            }
        }
        let file = Arc::new(self.chat.files.create(&self.chat.name, &self.name)?);
        let mut state = self.state();
        state.file = Some(Arc::clone(&file));
        Ok(Some((file, state.written)))
    }

    /// Stops saving, because of the disk. The first such reason counts.
    pub(super) fn fail(&self, why: String) {
        let mut state = self.state();
        if !state.is_given_up() {
            state.end = Some(End::Failed(why));
        }
    }

    /// Subtracts accepted bytes that will not be written, if any, and wakes the tasks that wait for bytes. Call it after
    /// [`SavedOutput::fail`]: the bytes that are left must never look complete.
    pub(super) fn give_back(&self, lost: u64) {
        if lost > 0 {
            {
                let mut state = self.state();
                state.accepted = state.accepted.saturating_sub(lost);
            }
            if let Some(store) = self.chat.store() {
                store.ledger().release(self.id, lost);
            }
        }
        self.changed.notify_waiters();
    }

    /// Reads written bytes, from the open file or from one that is opened for this.
    pub(super) fn read_now(&self, offset: u64, max: usize) -> io::Result<Vec<u8>> {
        let (file, left) = {
            let state = self.state();
            if self.is_deleted(&state) {
                return Ok(Vec::new());
            }
            (state.file.clone(), state.written.saturating_sub(offset))
        };
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(max);
        if size == 0 {
            return Ok(Vec::new());
        }
        let file = match file {
            Some(file) => file,
            None => match self.chat.files.open_again(&self.chat.name, &self.name)? {
                Some(file) => Arc::new(file),
                // Removed since.
                None if self.is_deleted(&self.state()) => return Ok(Vec::new()),
                None => return Err(io::ErrorKind::NotFound.into()),
            },
        };
        let mut data = vec![0; size];
        let count = read_all_at(&file, &mut data, offset)?;
        data.truncate(count);
        Ok(data)
    }

    /// Closes a file that is complete: a thousand ended processes hold no descriptors.
    pub(super) fn drop_file_if_done(&self) {
        let file = {
            let mut state = self.state();
            let done = state.closed && state.written == state.accepted;
            if done { state.file.take() } else { None }
        };
        // Closing may wait for the disk, and the state is not locked for that.
        drop(file);
    }

    /// Closes the file.
    pub(super) fn drop_file(&self) {
        let file = self.state().file.take();
        drop(file);
    }

    /// Deletes the file of a removed output.
    pub(super) fn delete(&self) {
        self.drop_file();
        if let Err(error) = self.chat.files.remove(&self.chat.name, &self.name) {
            tracing::warn!(%error, "failed to delete a saved output");
        }
    }
}

/// Writes as many bytes as the disk takes. Returns their number, and the error that stopped the rest.
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> (usize, io::Result<()>) {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match file.write_at(rest, offset.saturating_add(written as u64)) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

/// Fills the buffer as far as the file goes, and returns how far that is.
fn read_all_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut count = 0;
    while let Some(rest) = buffer.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(count as u64)) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
