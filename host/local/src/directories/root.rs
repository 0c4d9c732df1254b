//! The directory in which the workspaces are.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::{OpenDirectoriesError, quota};
use crate::process::homes_in_root;

/// The beginning of the names of directories that are not complete yet, or that are being removed.
const UNFINISHED: &str = "+";

/// The name of the file whose lock keeps other hosts out.
const LOCK: &str = "+lock";

/// The directory in which the workspaces are, with the lock of this host.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    _lock: File,
}

impl Root {
    /// Opens the directory, or makes it with mode 0700. Removes unfinished directories of earlier hosts in the background.
    pub(super) fn open(path: &Path) -> Result<Self, OpenDirectoriesError> {
        let unusable = |source| OpenDirectoriesError::Unusable {
            path: path.to_path_buf(),
            source,
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        check(&path)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(unusable)?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(OpenDirectoriesError::Locked { path });
        }
        let root = Self { path, _lock: lock };
        for entry in root.path.read_dir().map_err(unusable)? {
            let entry = entry.map_err(unusable)?;
            let name = entry.file_name();
            let is_unfinished = name.to_string_lossy().starts_with(UNFINISHED);
            if is_unfinished && name != LOCK && entry.path() != homes_in_root(&root.path) {
                root.remove_later(entry.path());
            }
        }
        Ok(root)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes an empty directory that is no workspace yet.
    pub(super) fn make_unfinished(&self) -> io::Result<PathBuf> {
        let path = self.unfinished("new");
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Returns the directory for the home of a workspace.
    pub(super) fn home(&self, workspace: &Path) -> PathBuf {
        let name = workspace.file_name().unwrap_or_default();
        homes_in_root(&self.path).join(name)
    }

    /// Renames a workspace or a home to a directory that is none. Returns its new path; `None` if there is nothing.
    pub(super) fn take_away(&self, workspace: &Path) -> io::Result<Option<PathBuf>> {
        let gone = self.unfinished("gone");
        match std::fs::rename(workspace, &gone) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            renamed => renamed.map(|()| Some(gone)),
        }
    }

    /// Removes an unfinished directory on a thread of its own.
    pub(super) fn remove_later(&self, path: PathBuf) {
        let removal = move || {
            if let Err(error) = discard(&path) {
                let path = path.display();
                tracing::warn!(%path, %error, "an unfinished workspace cannot be removed");
            }
        };
        let thread = std::thread::Builder::new().name("removal".to_owned());
        if let Err(error) = thread.spawn(removal) {
            tracing::warn!(%error, "an unfinished workspace is removed at the next start");
        }
    }

    fn unfinished(&self, kind: &str) -> PathBuf {
        let number = uuid::Uuid::new_v4().simple();
        self.path.join(format!("{UNFINISHED}{kind}-{number}"))
    }
}

/// Checks that only the user of this program can change a directory.
pub(super) fn check(path: &Path) -> Result<(), OpenDirectoriesError> {
    let path = path.to_path_buf();
    let found = match path.metadata() {
        Ok(found) if found.is_dir() => found,
        Ok(_) => {
            let source = io::ErrorKind::NotADirectory.into();
            return Err(OpenDirectoriesError::Unusable { path, source });
        }
        Err(source) => return Err(OpenDirectoriesError::Unusable { path, source }),
    };
    let is_shared = found.mode() & 0o022 != 0;
    match is_shared || found.uid() != rustix::process::geteuid().as_raw() {
        true => Err(OpenDirectoriesError::Shared { path }),
        false => Ok(()),
    }
}

/// Removes a directory that is no workspace, and its quota. Blocks on the disk.
pub(super) fn discard(path: &Path) -> io::Result<()> {
    if let Err(error) = quota::clear(path) {
        tracing::warn!(path = %path.display(), %error, "the quota of a removed workspace is left on the file system");
    }
    crate::removal::remove(path)
}
