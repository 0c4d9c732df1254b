//! Replacing a file so that a machine that crashes has the old one or the new one, and never half of either.

use std::fs::File;
use std::io::{self, Write};

use super::StateDir;

/// A new file that will replace another. The caller must put it in place, or discard it.
#[derive(Debug)]
pub(crate) struct Replacement {
    partial: String,
    file: File,
}

impl StateDir {
    /// Writes a file as [`StateDir::write`] does, which is on the disk before it has its name.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The older file of the name is as it was then.
    pub(crate) fn replace(&self, name: &str, data: &[u8]) -> io::Result<()> {
        let replacement = self.prepare(name, data)?;
        self.put(replacement, name)?;
        self.sync()
    }

    /// Writes the replacement of a file, and waits until it is on the disk.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn prepare(&self, name: &str, data: &[u8]) -> io::Result<Replacement> {
        let (partial, file) = self.write_partial(name, data)?;
        match file.sync_all() {
            Ok(()) => Ok(Replacement { partial, file }),
            Err(error) => {
                _ = self.remove(&partial);
                Err(error)
            }
        }
    }

    /// Gives a replacement its name.
    ///
    /// # Errors
    ///
    /// If the system refuses. The replacement is gone then.
    pub(crate) fn put(&self, replacement: Replacement, name: &str) -> io::Result<()> {
        let Replacement { partial, .. } = replacement;
        self.rename(&partial, name)
    }

    /// Removes a replacement that is not needed any more.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(crate) fn discard(&self, replacement: Replacement) -> io::Result<()> {
        let Replacement { partial, .. } = replacement;
        self.remove(&partial)
    }

    /// Waits until the names of all files are on the disk.
    ///
    /// # Errors
    ///
    /// If it cannot take them.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(nix::unistd::fsync(&self.directory)?)
    }
}

impl Replacement {
    /// Adds bytes to the end, which the disk need not have before the file has its name.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Waits until the added bytes are on the disk.
    ///
    /// # Errors
    ///
    /// If the disk cannot take it.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Returns the size in bytes.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_or_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        state.replace("a", b"old").unwrap();
        let mut replacement = state.prepare("a", b"new").unwrap();
        replacement.append(b"er").unwrap();
        assert_eq!(state.read("a", 10).unwrap().unwrap(), b"old");
        state.put(replacement, "a").unwrap();
        assert_eq!(state.read("a", 10).unwrap().unwrap(), b"newer");
        let other = state.prepare("a", b"other").unwrap();
        state.discard(other).unwrap();
        assert_eq!(state.read("a", 10).unwrap().unwrap(), b"newer");
        assert_eq!(state.names().unwrap().len(), 1, "nothing is left behind");
    }
}
