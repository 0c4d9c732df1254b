//! Facts about files and directories.

use std::path::PathBuf;
use std::time::SystemTime;

/// The kind of a file.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link that was not followed.
    Symlink,
    /// A device, a socket or a pipe.
    Other,
}

/// Facts about a file or directory.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Metadata {
    /// The kind of the file.
    pub kind: Kind,
    /// Its size in bytes; 0 for a directory.
    pub size: u64,
    /// When its content last changed.
    pub modified: SystemTime,
    /// A text that changes when the content does: a hash of the content up to [`MAX_READ`](super::MAX_READ) bytes, else of
    /// everything that the system says of the file.
    pub version: String,
    /// A text that is equal for two paths of one file.
    pub identity: String,
    /// The absolute path without links.
    pub path: PathBuf,
}

/// One name in a directory.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Entry {
    /// The name, without the directory. Bytes that are no text are replaced: such a name cannot be used.
    pub name: String,
    /// The kind of the file that the name stands for.
    pub kind: Kind,
}
