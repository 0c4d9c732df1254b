//! Errors of opening the files of a workspace.

use std::io;
use std::path::PathBuf;

use super::Error;

/// A reason why the files of a workspace cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A directory cannot be a root.
    #[error("the directory {path} cannot be used", path = path.display())]
    Root {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A directory is closed, or in one that is.
    #[error("the directory {path} is closed to tools and commands (never), and cannot be a workspace or a root", path = .0.display())]
    Closed(PathBuf),
}

impl OpenError {
    /// Returns the error as a caller of the workspace gets it: a text with all causes.
    pub(crate) fn for_caller(self) -> Error {
        let text = toolhost_state::error_chain::full_text(&self);
        Error::Denied(text)
    }
}
