//! Directories of the host itself, in which files are recognised by hard links as well.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::{Identity, identity};

/// How many directories deep a file of the host can be.
const MAX_DEPTH: usize = 8;

/// A directory of the host. It stays open, because it may be moved.
#[derive(Clone, Debug)]
pub(super) struct Own {
    identity: Identity,
    directory: Arc<OwnedFd>,
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for Own {}

impl Own {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let directory = File::open(path)?;
        Ok(Self {
            identity: identity(&directory.metadata()?),
            directory: Arc::new(directory.into()),
        })
    }

    /// Returns whether a file has a name in the directory or below it.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub(super) fn holds(&self, file: Identity) -> io::Result<bool> {
        holds(self.directory.as_fd(), file, MAX_DEPTH)
    }
}

/// Looks each name up: on some file systems, the inode numbers in a directory are not those of its files.
fn holds(directory: BorrowedFd<'_>, file: Identity, depth: usize) -> io::Result<bool> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let found = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        if (found.st_dev, found.st_ino) == file {
            return Ok(true);
        }
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory && depth > 0 {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below = match openat(directory, name, flags, Mode::empty()) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                below => below?,
            };
            if holds(below.as_fd(), file, depth - 1)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
