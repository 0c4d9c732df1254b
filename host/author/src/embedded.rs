//! Files that are part of the program, and how they are written.

use std::io;
use std::path::{Path, PathBuf};

/// A file that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its path, relative to the folder that it is written into.
    pub path: &'static str,
    /// Its content.
    pub content: &'static [u8],
}

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// Writes a file, and makes the folders above it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| std::fs::write(path, content));
    written.map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })
}

/// Writes files into a folder, which is made if it is missing.
pub(crate) fn write_all(folder: &Path, files: &[File]) -> Result<(), WriteError> {
    files
        .iter()
        .try_for_each(|file| write(&folder.join(file.path), file.content))
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
