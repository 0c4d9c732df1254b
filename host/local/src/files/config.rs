//! The configuration of files.

use std::path::PathBuf;

/// The directories that may be reached.
#[derive(Debug)]
pub struct Config {
    /// The directory that relative paths start from. It must exist.
    pub workspace: PathBuf,
    /// Further directories that may be reached, by absolute paths. They must exist.
    pub roots: Vec<PathBuf>,
}

impl Config {
    /// Returns the configuration for one directory and nothing else.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            roots: Vec::new(),
        }
    }
}
