//! Errors of opening the root of workspaces.

use std::io;
use std::path::PathBuf;

/// A directory that cannot be the root of workspaces.
#[derive(Debug, thiserror::Error)]
pub enum OpenDirectoriesError {
    /// The system refused.
    #[error("the directory for workspaces {path} cannot be used: {source}; name another as `root` in [workspaces]", path = path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another user owns it, or may write to it.
    #[error("other users can change the directory for workspaces {path}: give it to the user that runs Toolhost, and run `chmod 700` on it", path = path.display())]
    Shared {
        /// The directory.
        path: PathBuf,
    },
    /// Another host uses it.
    #[error("another toolhost uses the directory for workspaces {path}: end it, or name another as `root` in [workspaces]", path = path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A template would copy closed files into workspaces.
    #[error("the template {name:?} is, contains or lies in {closed}, which is closed to tools and commands (never): name another directory in [workspaces.templates]", closed = closed.display())]
    Template {
        /// The name of the template.
        name: String,
        /// The closed path.
        closed: PathBuf,
    },
    /// The files of all workspaces could be reached from each of them.
    #[error("the files root {further} would let each workspace below {root} reach the files of the others: name another directory", root = root.display(), further = further.display())]
    Reachable {
        /// The directory for workspaces.
        root: PathBuf,
        /// The further root.
        further: PathBuf,
    },
}
