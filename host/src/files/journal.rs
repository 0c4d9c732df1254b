//! Which temporary files there are, so that none stays behind when a host is killed.
//!
//! Each host has a file of its own in a directory that they share, locked for as long as it lives. A name is written into it
//! before the file of that name is made. Whoever opens a journal first removes what the files of the dead name.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat};

use crate::state_dir::StateDir;

/// The directory of the journals in the state directory.
const DIRECTORY: &str = "files";

/// The largest journal that is read: it is emptied whenever no temporary file is left.
const MAX_JOURNAL: u64 = 64 << 20;

/// What is in the name of every temporary file, so that nothing else is ever removed.
pub(super) const MARK: &str = ".tmp.";

/// The journal of one host.
#[derive(Debug)]
pub(super) struct Journal {
    directory: StateDir,
    name: String,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: Flock<File>,
    /// How many files there are.
    live: usize,
}

impl Journal {
    /// Removes what other hosts left, and begins a journal.
    pub(super) fn open(state: &StateDir) -> io::Result<Self> {
        let directory = state.subdirectory(DIRECTORY).map_err(io::Error::other)?;
        recover(&directory)?;
        loop {
            let name = format!("{}.journal", uuid::Uuid::new_v4().simple());
            let file = directory.create_file(&name)?;
            // Until it is locked, another start may take it for one of the dead.
            let Ok(file) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
                continue;
            };
            if file.metadata()?.nlink() == 0 {
                continue;
            }
            let open = Mutex::new(Open { file, live: 0 });
            return Ok(Self {
                directory,
                name,
                open,
            });
        }
    }

    /// Writes down a file that will be made.
    pub(super) fn add(&self, path: &Path) -> io::Result<()> {
        let mut line = serde_json::to_string(path)?;
        line.push('\n');
        let mut open = self.lock();
        open.file.write_all(line.as_bytes())?;
        open.live += 1;
        Ok(())
    }

    /// Takes note that a file is there no longer. When none is left, the journal is emptied.
    pub(super) fn remove(&self) {
        let mut open = self.lock();
        open.live = open.live.saturating_sub(1);
        if open.live == 0 {
            let emptied = open.file.set_len(0);
            if let Err(error) = emptied.and_then(|()| io::Seek::rewind(&mut *open.file)) {
                tracing::warn!(%error, "the journal of temporary files cannot be emptied");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let left = self.lock().live;
        if left == 0
            && let Err(error) = self.directory.remove(&self.name)
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
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(_locked) => {
                let Some(text) = directory.read(&name, MAX_JOURNAL)? else {
                    continue;
                };
                let text = String::from_utf8_lossy(&text);
                // A line that was cut off named a file that was not made yet.
                let paths = text
                    .lines()
                    .filter_map(|line| serde_json::from_str(line).ok());
                let failed = paths.filter(|path: &PathBuf| !clean(path)).count();
                if failed == 0 {
                    directory.remove(&name)?;
                }
            }
            Err((_, Errno::EWOULDBLOCK)) => {}
            Err((_, errno)) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Removes one temporary file, unless somebody has put a link into its path. Returns whether it is gone.
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
