//! Why a sandbox cannot be prepared.

use std::io;
use std::path::{Path, PathBuf};

/// A reason why a sandbox cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The policy is `required`, and a part of it cannot be applied.
    #[error(
        "the sandbox is required, and parts of it cannot be applied: {0}; run `toolhost doctor` to see why, or set `required = false` to run commands without these parts"
    )]
    Missing(String),
    /// The workspace is a directory that commands must not reach.
    #[error(
        "the workspace {0:?} is a directory that commands must never reach; choose another workspace"
    )]
    Forbidden(PathBuf),
    /// A path that a rule names cannot be looked at. The path may be there, so a sandbox without the rule would be broken.
    #[error("cannot look at {path:?}, which commands may use: {error}")]
    Unread {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// The machine is short of processes, descriptors or memory, so it is not known what it supports. The text says what is short.
    #[error("the machine has no room for the sandbox of commands: {0}")]
    Short(String),
    /// The kernel refuses the Landlock ruleset.
    #[error("cannot make the Landlock ruleset: {0}")]
    Landlock(#[from] landlock::RulesetError),
    /// The filter of system calls cannot be compiled.
    #[error("cannot make the filter of system calls: {0}")]
    Seccomp(#[from] seccompiler::BackendError),
}

impl PrepareError {
    pub(crate) fn unread(path: &Path, error: io::Error) -> Self {
        Self::Unread {
            path: path.to_path_buf(),
            error,
        }
    }
}
