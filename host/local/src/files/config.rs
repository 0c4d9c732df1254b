//! The configuration of files.

use std::path::PathBuf;

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

/// The place for the names of existing temporary files, so that the next start can remove the files that a crash left.
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
