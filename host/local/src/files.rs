//! Files beneath the roots of a workspace: resolved, read, listed, and replaced as a whole.
//!
//! Every path is walked from a root, one name at a time. Each name is opened relative to the directory above it and never
//! through a link (`walk`). A process that swaps a directory for a link meanwhile changes where the walk goes, but never to a
//! place outside the roots. Each operation then acts on a name in an open directory. Devices, pipes and sockets are never
//! opened. All functions here block: call them on a thread that may block.

mod config;
mod directory;
mod metadata;
mod open;
mod open_error;
mod pool;
mod read;
mod remove;
mod resolved_path;
mod roots;
mod search;
mod temporaries;
#[cfg(test)]
mod tests;
mod version;
mod walk;
mod work;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use toolhost_state::closed::Closed;
use toolhost_workspace::files::{
    Chunk, CpuAccount, Entry, Error, Kind, MAX_ENTRIES, MAX_PART, MAX_READ, MAX_WRITE, MAX_WRITES,
    Metadata, Precondition, Removal, Skipped, Write,
};

pub use config::Config;
pub use open_error::OpenError;
pub(crate) use pool::Pool;
pub(crate) use temporaries::Temporaries;
pub(crate) use work::Work;

use roots::Roots;

/// The files of a workspace.
#[derive(Debug)]
pub(crate) struct Files {
    roots: Roots,
    temporaries: Option<Arc<Temporaries>>,
    /// Held while preconditions are checked and files replaced, so that two writers take turns.
    replacing: Arc<Mutex<()>>,
    /// The files that are being written.
    turns: Arc<write::Turns>,
    /// The files that come in parts.
    uploads: Arc<write::Uploads>,
}

impl Files {
    /// Opens the roots. No path leads to a file that is closed. A host that is killed may leave a temporary file, unless their names are stored.
    ///
    /// # Errors
    ///
    /// If a root cannot be opened, or is closed.
    pub(crate) fn open(config: &Config, closed: &Closed) -> Result<Self, OpenError> {
        Ok(Self {
            roots: Roots::open(config, closed)?,
            temporaries: None,
            replacing: Arc::default(),
            turns: Arc::default(),
            uploads: Arc::default(),
        })
    }

    /// Stores the names of temporary files from now on, if these are given.
    pub(crate) fn storing(mut self, temporaries: Option<Arc<Temporaries>>) -> Self {
        self.temporaries = temporaries;
        self
    }

    /// Returns access to the files of another workspace and of the same further roots. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be opened, or is closed.
    pub(crate) fn beside(&self, workspace: &Path) -> Result<Self, OpenError> {
        Ok(Self {
            roots: self.roots.beside(workspace)?,
            temporaries: self.temporaries.clone(),
            replacing: Arc::default(),
            turns: Arc::default(),
            uploads: Arc::clone(&self.uploads),
        })
    }

    /// Returns the paths that may not be reached.
    pub(crate) fn closed(&self) -> &Closed {
        self.roots.closed()
    }

    /// Returns the directories that may be reached besides the workspace.
    pub(crate) fn further_roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.further()
    }

    /// Returns access to the files of these directories alone, given relative to the workspace or absolute. Relative paths still
    /// start from the workspace, and reach only files in one of these directories.
    ///
    /// # Errors
    ///
    /// If one of the directories cannot be opened, or is closed.
    pub(crate) fn restricted(&self, roots: &[PathBuf]) -> Result<Self, OpenError> {
        Ok(Self {
            roots: self.roots.restricted(roots)?,
            temporaries: self.temporaries.clone(),
            replacing: Arc::clone(&self.replacing),
            turns: Arc::clone(&self.turns),
            uploads: Arc::clone(&self.uploads),
        })
    }

    /// Returns the metadata of the file that a path names, following links.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn metadata(&self, path: &str) -> Result<Metadata, Error> {
        self.walk(path)?.metadata()
    }

    /// Returns the absolute path that a path stands for, with every link resolved. The last names may be missing.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        Ok(self.walk(path)?.into_path())
    }
}
