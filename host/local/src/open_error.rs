//! Errors of opening a directory of this machine as a workspace.

use std::path::PathBuf;

use toolhost_store::StoreError;

use crate::{files, process};

/// A directory that cannot be a workspace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be resolved.
    #[error("the workspace {path} cannot be used", path = path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It is no directory.
    #[error("the workspace {path} is not a directory", path = .0.display())]
    NotADirectory(PathBuf),
    /// The store of the host cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its processes cannot be recorded.
    #[error(transparent)]
    Processes(#[from] process::OpenError),
    /// Its files cannot be offered.
    #[error(transparent)]
    Files(#[from] files::OpenError),
}
