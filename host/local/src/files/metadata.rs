//! Facts about the file that a path names, from its status in the file system.

use std::path::PathBuf;
use std::time::SystemTime;

use cap_std::fs::{FileType, Metadata as Stat, MetadataExt};

use super::{Kind, Metadata};

/// Returns the kind of a file.
pub(super) fn kind(kind: FileType) -> Kind {
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Symlink
    } else {
        Kind::Other
    }
}

/// Returns the facts about a file of this version and absolute path.
pub(super) fn metadata(stat: &Stat, version: String, path: PathBuf) -> Metadata {
    let kind = kind(stat.file_type());
    let modified = stat.modified().map(cap_std::time::SystemTime::into_std);
    Metadata {
        kind,
        size: if kind == Kind::Directory {
            0
        } else {
            stat.len()
        },
        modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
        version,
        identity: identity(stat),
        path,
    }
}

/// Returns a text that is equal for two paths of one file.
pub(super) fn identity(stat: &Stat) -> String {
    format!("{:x}-{:x}", stat.dev(), stat.ino())
}
