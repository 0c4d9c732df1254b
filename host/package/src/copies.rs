//! Copies of components on this machine, by their digests: a package that was pulled once needs no registry any more.

use std::io;
use std::path::{Path, PathBuf};

use toolhost_state::state_dir::{StateDir, StateDirError};

use crate::digest;

/// The directory of the copies, which only its owner can use.
#[derive(Debug)]
pub struct Copies(StateDir);

impl Copies {
    /// The name of the directory.
    const NAME: &'static str = "components";

    /// Opens the copies in this directory, or makes it.
    ///
    /// # Errors
    ///
    /// If the directory cannot be used.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        Ok(Self(StateDir::open(path)?.subdirectory(Self::NAME)?))
    }

    /// Returns the path that the copy with this digest has in such a directory.
    pub fn path(directory: &Path, digest: &str) -> PathBuf {
        directory.join(Self::NAME).join(file(digest))
    }

    /// Keeps a copy, and returns its digest.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn keep(&self, component: &[u8]) -> io::Result<String> {
        let digest = digest(component);
        self.0.write(&file(&digest), component)?;
        Ok(digest)
    }

    /// Returns whether there is a copy with this digest whose bytes are right.
    pub fn has(&self, digest: &str) -> bool {
        let read = self.0.read(&file(digest), u64::MAX);
        read.is_ok_and(|read| read.is_some_and(|bytes| crate::digest(&bytes) == digest))
    }
}

fn file(digest: &str) -> String {
    format!("{}.wasm", digest.replace(':', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_there_as_long_as_its_bytes_are_right() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("cache");
        let copies = Copies::open(&directory).unwrap();
        assert!(!copies.has(&digest(b"bytes")));
        let kept = copies.keep(b"bytes").unwrap();
        assert!(copies.has(&kept));
        let path = Copies::path(&directory, &kept);
        assert_eq!(std::fs::read(&path).unwrap(), b"bytes");
        std::fs::write(&path, b"others").unwrap();
        assert!(!copies.has(&kept));
    }
}
