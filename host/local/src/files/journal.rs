//! The journal of temporary files, so that none stays behind when a host is killed.
//!
//! Each host has a file of its own in a directory that they share, and locks the file for as long as the host lives. The host
//! writes the path of a temporary file there before it makes the file. A host that opens its journal first removes the
//! temporary files that the journals of dead hosts name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat};

use toolhost_state::state_dir::StateDir;

/// The directory of the journals in the state directory.
const DIRECTORY: &str = "files";

/// The largest journal that is read: it is emptied whenever no temporary file is left.
const MAX_JOURNAL: u64 = 64 << 20;

/// The part that the name of every temporary file has, so that no other file is ever removed.
pub(super) const MARK: &str = ".tmp.";

/// The size in bytes past which a journal is replaced by one that names only the files that are still there.
const ROTATE: u64 = 64 << 10;

/// The byte that ends a path in a journal: no path contains it.
const END: u8 = 0;

/// The journal of one host.
#[derive(Debug)]
pub(super) struct Journal {
    directory: StateDir,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    name: String,
    file: Flock<File>,
    length: u64,
    /// The temporary files that may exist.
    live: BTreeSet<PathBuf>,
}

impl Journal {
    /// Removes the files that dead hosts left, and begins a journal.
    pub(super) fn open(state: &StateDir) -> io::Result<Self> {
        let directory = state.subdirectory(DIRECTORY).map_err(io::Error::other)?;
        if let Err(error) = recover(&directory) {
            tracing::warn!(%error, "temporary files of hosts that were killed may stay");
        }
        let open = Mutex::new(begin(&directory)?);
        Ok(Self { directory, open })
    }

    /// Writes down a file that will be made.
    pub(super) fn add(&self, path: &Path) -> io::Result<()> {
        let mut open = self.lock();
        if open.length > ROTATE {
            // The new journal is complete before the old one is removed, so that no name is lost in between.
            let mut next = begin(&self.directory)?;
            for path in std::mem::take(&mut open.live) {
                next.add(path)?;
            }
            let old = std::mem::replace(&mut *open, next);
            self.directory.remove(&old.name)?;
        }
        open.add(path.to_path_buf())
    }

    /// Notes that a file no longer exists. When no file is left, empties the journal.
    pub(super) fn remove(&self, path: &Path) {
        let mut open = self.lock();
        open.live.remove(path);
        if open.live.is_empty() {
            match open.file.set_len(0) {
                Ok(()) => open.length = 0,
                Err(error) => {
                    tracing::warn!(%error, "the journal of temporary files cannot be emptied");
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }
}

impl Open {
    fn add(&mut self, path: PathBuf) -> io::Result<()> {
        let mut record = path.as_os_str().as_bytes().to_vec();
        record.push(END);
        if let Err(error) = self.file.write_all_at(&record, self.length) {
            // Otherwise a torn path would become the beginning of the next one.
            _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += record.len() as u64;
        self.live.insert(path);
        Ok(())
    }
}

/// Makes a locked journal, which other hosts do not take for that of a dead host.
fn begin(directory: &StateDir) -> io::Result<Open> {
    loop {
        let name = format!("{}.journal", uuid::Uuid::new_v4().simple());
        let file = directory.create_file(&name)?;
        // Until the file is locked, another start may lock and remove it.
        let Ok(file) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
            continue;
        };
        if file.metadata()?.nlink() > 0 {
            let (length, live) = (0, BTreeSet::new());
            return Ok(Open {
                name,
                file,
                length,
                live,
            });
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let open = self.lock();
        if open.live.is_empty()
            && let Err(error) = self.directory.remove(&open.name)
        {
            tracing::debug!(%error, "an empty journal stays");
        }
    }
}

/// Removes the files that the journals of dead hosts name, and the journals.
fn recover(directory: &StateDir) -> io::Result<()> {
    for (name, _) in directory.names()? {
        let Ok(Some(file)) = directory.open_file(&name) else {
            continue;
        };
        // The lock is held until the journal is removed, so that no other start does the same.
        let Ok(_locked) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
            continue;
        };
        let text = match directory.read(&name, MAX_JOURNAL) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(name, %error, "a journal of temporary files is left as it is");
                continue;
            }
        };
        // A record without an end names a file that was not made yet.
        let records = text.split_inclusive(|&byte| byte == END);
        let paths = records.filter_map(|record| record.strip_suffix(&[END]));
        let path = |path| Path::new(OsStr::from_bytes(path));
        if paths.filter(|&name| !clean(path(name))).count() == 0 {
            directory.remove(&name)?;
        }
    }
    Ok(())
}

/// Removes one temporary file, unless its path has a link in it. Returns false if the file is still there.
fn clean(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return true;
    };
    if !name.to_string_lossy().contains(MARK) {
        return true;
    }
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let removed = openat2(CWD, parent, flags, Mode::empty(), resolve)
        .and_then(|parent| unlinkat(parent, name, AtFlags::empty()));
    match removed {
        Ok(()) => {
            tracing::info!(path = %path.display(), "removed a temporary file of a host that was killed")
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a temporary file of a host that was killed stays");
            return false;
        }
    }
    true
}
