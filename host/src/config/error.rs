//! The error of a configuration.

use std::path::{Path, PathBuf};

use toolhost_state::trusted::UntrustedError;

use super::problems::{Listed, Problem};

/// A reason why a configuration cannot be used. The texts name the file, and the line or the key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Other users can change the file.
    #[error("the configuration cannot be used: {0}")]
    Untrusted(UntrustedError),
    /// The file is not valid.
    #[error("the configuration {path}is not valid{}", Listed(.problems), path = shown(path))]
    Invalid {
        /// The file; empty if there is none.
        path: PathBuf,
        /// All problems; at least one.
        problems: Vec<Problem>,
    },
}

/// A configuration without a file has no name.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        String::new()
    } else {
        format!("{} ", path.display())
    }
}
