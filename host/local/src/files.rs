//! Files beneath the roots of a workspace: resolved, read, listed, and replaced as a whole.
//!
//! Every path is walked from a root, one name at a time. Each name is opened relative to the directory above it and never
//! through a link (`walk`). A process that swaps a directory for a link meanwhile changes where the walk goes, but never to
//! a place outside the roots. Each operation then acts on a name in an open directory. Devices, pipes and sockets are never
//! opened. All functions here block: call them where that is allowed.

mod directory;
mod hidden;
mod journal;
mod metadata;
mod open_error;
mod pool;
mod read;
mod resolved_path;
mod roots;
#[cfg(test)]
mod tests;
mod version;
mod walk;
mod work;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use toolhost_workspace::files::{
    Chunk, CpuAccount, Entry, Error, Kind, MAX_ENTRIES, MAX_READ, MAX_WRITE, MAX_WRITES, Metadata,
    Precondition, Skipped, Write,
};

pub use open_error::OpenError;
pub use pool::Pool;
pub use work::Work;

use journal::Journal;
use roots::Roots;

use toolhost_state::state_dir::StateDir;

/// The directories that may be reached, and where the names of temporary files are kept.
#[derive(Debug)]
pub struct Config {
    /// The directory that relative paths start from. It must exist.
    pub workspace: PathBuf,
    /// Further directories that may be reached, by absolute paths. They must exist.
    pub roots: Vec<PathBuf>,
    /// Directories that may not be reached, although they may lie beneath a root: those with secrets of the host.
    pub hidden: Vec<PathBuf>,
    /// Where the names of existing temporary files are kept.
    pub temporaries: Temporaries,
}

/// Where the names of existing temporary files are kept, so that the next start removes those that a crash left.
#[derive(Debug)]
pub enum Temporaries {
    /// Nowhere: a crash may leave a temporary file.
    Forgotten,
    /// In a state directory, which any number of hosts may share.
    Kept(StateDir),
    /// As `Kept` if possible, otherwise as `Forgotten`, with a warning.
    KeptIfPossible(StateDir),
}

impl Config {
    /// Returns the configuration for one directory and nothing else.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            roots: Vec::new(),
            hidden: Vec::new(),
            temporaries: Temporaries::Forgotten,
        }
    }
}

/// The files of a workspace.
#[derive(Debug)]
pub struct Files {
    roots: Roots,
    journal: Option<Arc<Journal>>,
    /// Held while preconditions are checked and files replaced, so that two writers take turns.
    replacing: Arc<Mutex<()>>,
}

impl Files {
    /// Opens the roots, and removes the temporary files that hosts before this one left.
    ///
    /// # Errors
    ///
    /// If a root cannot be opened, or the journal cannot be used.
    pub fn open(config: &Config) -> Result<Self, OpenError> {
        let journal = match &config.temporaries {
            Temporaries::Forgotten => None,
            Temporaries::Kept(state) => Some(Journal::open(state).map_err(OpenError::Journal)?),
            Temporaries::KeptIfPossible(state) => Journal::open(state)
                .inspect_err(|error| {
                    tracing::warn!(%error, "no journal: a temporary file may stay if this program is killed");
                })
                .ok(),
        };
        Ok(Self {
            roots: Roots::open(config)?,
            journal: journal.map(Arc::new),
            replacing: Arc::default(),
        })
    }

    /// Returns access to the files of these directories alone, given relative to the workspace or absolute. Relative paths still
    /// start from the workspace, and reach only files in one of these directories.
    ///
    /// # Errors
    ///
    /// If one of the directories cannot be opened, or holds secrets of the host.
    pub fn restricted(&self, roots: &[PathBuf]) -> Result<Self, OpenError> {
        Ok(Self {
            roots: self.roots.restricted(roots)?,
            journal: self.journal.clone(),
            replacing: Arc::clone(&self.replacing),
        })
    }

    /// Returns the directory that relative paths start from, absolute and without links.
    pub fn workspace(&self) -> &Path {
        self.roots.workspace()
    }

    /// Returns the metadata of the file that a path names, following links.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn metadata(&self, path: &str) -> Result<Metadata, Error> {
        self.walk(path)?.metadata()
    }

    /// Returns the absolute path that a path stands for, with every link resolved. The last names may be missing.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        Ok(self.walk(path)?.into_path())
    }
}
