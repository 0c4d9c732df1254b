//! Replacing and removing files: all of them or none, each whole, and only if their preconditions hold.
//!
//! Writers of one file take turns. The new files are complete, synced and have their modes before any file is replaced. Then, while no other writer of this
//! host, and no other host, is at the same point, every precondition is checked and every file renamed into place. A program
//! that does not use these locks can still change a file in the microseconds between the check and the renaming.

mod access;
mod lock;
mod prepare;
mod remove;
mod replace;
mod temporary;
#[cfg(test)]
mod tests;
mod turns;
mod upload;

use super::{Error, Files, MAX_WRITE, MAX_WRITES, Metadata, Removal, Write};
use prepare::{Directories, Prepared};
use remove::Removed;

pub(super) use lock::Locks;
pub(super) use prepare::check;
pub(super) use turns::Turns;
pub(super) use upload::{UPLOAD_IDLE, Uploads};

impl Files {
    /// Writes and removes all of the files or none, and returns facts about each of those that were written, in the order that was
    /// asked for. At most [`MAX_WRITES`] files and [`MAX_WRITE`] bytes.
    ///
    /// A replaced file keeps its mode without setuid and setgid, and its owner if the system allows that. If the path is a
    /// link, its target is replaced. Other names of the same file keep the old content. The new content is on disk when this
    /// returns. If the path of a removal is a link, the link is removed, and its target stays.
    ///
    /// # Errors
    ///
    /// The index of the file that failed, and why; the removals count on behind the writes. Unless that is [`Error::UnknownOutcome`], every file is as it was.
    pub(crate) fn change_all(
        &self,
        writes: Vec<Write>,
        removals: Vec<Removal>,
    ) -> Result<Vec<Metadata>, (usize, Error)> {
        bounded(&writes, &removals)?;
        let written = writes.len();
        let is_single = written == 1 && removals.is_empty();
        // Dropped after the files, because a directory can only be removed when it is empty.
        let mut directories = Directories::default();
        let mut removed: Vec<Removed<'_>> = Vec::new();
        for (index, removal) in removals.into_iter().enumerate() {
            let next = self.prepare_removal(removal, &mut directories);
            let next = next.map_err(|error| (written + index, error))?;
            if removed.iter().any(|other| other.place.is_same(&next.place)) {
                return Err((
                    written + index,
                    invalid("the same file is to be removed twice"),
                ));
            }
            removed.push(next);
        }
        let mut prepared: Vec<Prepared<'_>> = Vec::new();
        for (index, write) in writes.into_iter().enumerate() {
            let from = removed.iter().find(|removed| removed.is_moved_to(index));
            let from = from.and_then(Removed::file);
            let next = self.prepare(write, is_single, from, &mut directories);
            let next = next.map_err(|error| (index, error))?;
            if prepared
                .iter()
                .any(|other| other.place.is_same(&next.place))
            {
                return Err((index, invalid("the same file is to be written twice")));
            }
            if removed.iter().any(|other| other.place.is_same(&next.place)) {
                return Err((index, invalid("the same file is to be written and removed")));
            }
            prepared.push(next);
        }
        self.place(directories, prepared, removed)
    }

    /// Renames files that are ready into place and away, if the preconditions still hold.
    fn place(
        &self,
        // Dropped after the files, as above.
        mut directories: Directories,
        mut prepared: Vec<Prepared<'_>>,
        mut removed: Vec<Removed<'_>>,
    ) -> Result<Vec<Metadata>, (usize, Error)> {
        // Take the locks of the directories first, which other hosts may hold for long: the wait for them must not block other
        // writers of this host.
        let locks = Locks::take(directories.iter());
        let one_at_a_time = self.replacing.lock();
        for (index, file) in prepared.iter().enumerate() {
            file.check().map_err(|error| (index, error))?;
        }
        for (index, file) in removed.iter().enumerate() {
            let index = prepared.len() + index;
            file.check().map_err(|error| (index, error))?;
        }
        let written = replace::all(&mut prepared, &mut removed)?;
        drop((one_at_a_time, locks, prepared, removed));
        directories.kept = true;
        directories.sync();
        Ok(written)
    }
}

fn invalid(text: &str) -> Error {
    Error::Invalid(text.into())
}

fn bounded(writes: &[Write], removals: &[Removal]) -> Result<(), (usize, Error)> {
    let mut bytes = 0_usize;
    for (index, write) in writes.iter().enumerate() {
        bytes = bytes.saturating_add(write.data.len());
        if bytes > MAX_WRITE {
            return Err((index, Error::TooLarge(MAX_WRITE as u64)));
        }
    }
    if writes.len() + removals.len() > MAX_WRITES {
        let text = format!("more than {MAX_WRITES} files at once");
        return Err((MAX_WRITES, Error::Invalid(text)));
    }
    Ok(())
}
