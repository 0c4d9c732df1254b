//! Facts about what a path names.

use std::path::PathBuf;
use std::time::SystemTime;

use cap_std::fs::{Metadata as Found, MetadataExt};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Kind {
    pub(super) fn of(found: &Found) -> Self {
        Self::of_type(found.file_type())
    }

    pub(super) fn of_type(kind: cap_std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Symlink
        } else {
            Self::Other
        }
    }
}

/// Facts about a file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
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

impl Metadata {
    pub(super) fn new(found: &Found, version: String, path: PathBuf) -> Self {
        let kind = Kind::of(found);
        let modified = found.modified().map(cap_std::time::SystemTime::into_std);
        Self {
            kind,
            size: if kind == Kind::Directory {
                0
            } else {
                found.len()
            },
            modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
            version,
            identity: identity(found),
            path,
        }
    }
}

/// Returns a text that is equal for two paths of one file.
pub(super) fn identity(found: &Found) -> String {
    format!("{:x}-{:x}", found.dev(), found.ino())
}
