//! Directories of the host itself: no path leads into them, and no hard link shows one of their files.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

/// How many directories deep a file of the host can be.
const MAX_DEPTH: usize = 8;

/// Device and number of a file.
pub(super) type Identity = (u64, u64);

/// A directory that may not be entered. It is recognised by its path and by its identity, because it may be moved, or made
/// anew.
#[derive(Clone, Debug)]
pub(super) struct Hidden {
    pub(super) path: PathBuf,
    directory: Option<(Identity, Arc<OwnedFd>)>,
}

impl Hidden {
    pub(super) fn new(path: &Path) -> Self {
        let open = || {
            let directory = File::open(path)?;
            let found = directory.metadata()?;
            let identity = (found.dev(), found.ino());
            io::Result::Ok((identity, Arc::new(directory.into())))
        };
        Self {
            directory: open().ok(),
            path: path.canonicalize().unwrap_or_else(|_| path.to_path_buf()),
        }
    }

    pub(super) fn own_process() -> Self {
        // Its environment contains the token, if a variable gave it. The identity of the directory is another one at each look.
        Self {
            path: format!("/proc/{}", std::process::id()).into(),
            directory: None,
        }
    }

    /// Returns whether a directory with this path or this identity is the hidden one.
    pub(super) fn is(&self, path: &Path, identity: Identity) -> bool {
        let hidden = self.directory.as_ref();
        self.path == path || hidden.is_some_and(|(hidden, _)| *hidden == identity)
    }

    /// Returns whether a file has a name in the directory or below it.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub(super) fn holds(&self, file: Identity) -> io::Result<bool> {
        match &self.directory {
            Some((_, directory)) => holds(directory.as_fd(), file, MAX_DEPTH),
            None => Ok(false),
        }
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
