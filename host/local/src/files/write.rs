//! Replacing files: all of them or none, each whole, and only if their preconditions hold.
//!
//! Writers of one file take turns. The new files are complete, synced and have their modes before any file is replaced. Then, while no other writer of this
//! host, and no other host, is at the same point, every precondition is checked and every file renamed into place. A program
//! that does not use these locks can still change a file in the microseconds between the check and the renaming.

mod access;
mod lock;
mod prepare;
mod replace;
mod temporary;
#[cfg(test)]
mod tests;
mod turns;

use super::{Error, Files, MAX_WRITE, MAX_WRITES, Metadata, Write};
use lock::Locks;
use prepare::{Directories, Prepared};

pub(super) use turns::Turns;

impl Files {
    /// Writes all of the files or none, and returns facts about each of them in the order that was asked for. At most
    /// [`MAX_WRITES`] files and [`MAX_WRITE`] bytes.
    ///
    /// A replaced file keeps its mode without setuid and setgid, and its owner if the system allows that. If the path is a
    /// link, its target is replaced. Other names of the same file keep the old content. The new content is on disk when this
    /// returns.
    ///
    /// # Errors
    ///
    /// The index of the file that failed, and why. Unless that is [`Error::UnknownOutcome`], every file is as it was.
    pub(crate) fn write_all(&self, writes: Vec<Write>) -> Result<Vec<Metadata>, (usize, Error)> {
        bounded(&writes)?;
        let is_single = writes.len() == 1;
        // Dropped after the files, because a directory can only be removed when it is empty.
        let mut directories = Directories::default();
        let mut prepared: Vec<Prepared<'_>> = Vec::new();
        for (index, write) in writes.into_iter().enumerate() {
            let next = self.prepare(write, is_single, &mut directories);
            let next = next.map_err(|error| (index, error))?;
            if prepared.iter().any(|other| other.is_same(&next)) {
                let text = "the same file is to be written twice";
                return Err((index, Error::Invalid(text.into())));
            }
            prepared.push(next);
        }
        // Take the locks of the directories first, which other hosts may hold for long: the wait for them must not block other
        // writers of this host.
        let locks = Locks::take(directories.iter());
        let one_at_a_time = self.replacing.lock();
        for (index, file) in prepared.iter().enumerate() {
            file.check().map_err(|error| (index, error))?;
        }
        let written = replace::all(&mut prepared)?;
        drop((one_at_a_time, locks, prepared));
        directories.kept = true;
        directories.sync();
        Ok(written)
    }
}

fn bounded(writes: &[Write]) -> Result<(), (usize, Error)> {
    let mut bytes = 0_usize;
    for (index, write) in writes.iter().enumerate() {
        bytes = bytes.saturating_add(write.data.len());
        if bytes > MAX_WRITE {
            return Err((index, Error::TooLarge(MAX_WRITE as u64)));
        }
        if index >= MAX_WRITES {
            let text = format!("more than {MAX_WRITES} files at once");
            return Err((index, Error::Invalid(text)));
        }
    }
    Ok(())
}
