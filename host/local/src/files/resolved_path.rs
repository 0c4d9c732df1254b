//! The result of a walk: a name in an open directory.

use std::ffi::OsString;
use std::path::PathBuf;

use cap_std::fs::{Dir, Metadata as Found};

use super::metadata;
use super::{Error, Kind, Metadata, open, version};

/// The end of a path. No part of it is a symbolic link.
#[derive(Debug)]
pub(super) enum ResolvedPath {
    /// A directory that is open.
    Directory { directory: Dir, path: PathBuf },
    /// A file of another kind, and the directory that it is in.
    Entry {
        parent: Dir,
        name: OsString,
        found: Found,
        path: PathBuf,
    },
    /// No file: the nearest directory that exists, and the names that are missing below it. The last name is that of the file.
    Missing {
        parent: Dir,
        missing: Vec<OsString>,
        path: PathBuf,
    },
}

impl ResolvedPath {
    pub(super) fn into_path(self) -> PathBuf {
        match self {
            Self::Directory { path, .. }
            | Self::Entry { path, .. }
            | Self::Missing { path, .. } => path,
        }
    }

    pub(super) fn metadata(self) -> Result<Metadata, Error> {
        match self {
            Self::Directory { directory, path } => {
                let found = directory.dir_metadata()?;
                let version = version::of_stat(&found);
                Ok(metadata::metadata(&found, version, path))
            }
            Self::Entry { ref found, .. } if metadata::kind(found.file_type()) != Kind::File => {
                let version = version::of_stat(found);
                let found = found.clone();
                Ok(metadata::metadata(&found, version, self.into_path()))
            }
            Self::Entry {
                parent, name, path, ..
            } => {
                let file = open::regular(&parent, &name)?;
                let (version, found) = version::of(&file)?;
                Ok(metadata::metadata(&found, version, path))
            }
            Self::Missing { .. } => Err(Error::NotFound),
        }
    }
}
