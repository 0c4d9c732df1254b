//! Locks on directories, which keep several hosts apart that write in one.

use std::fs::File;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, MetadataExt, OpenOptions};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// How long another holder is waited for. A host holds a lock for the time of a renaming; who holds it longer is none, and
/// does not keep anyone from writing.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long is waited between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Locks on directories, until they are dropped.
#[derive(Debug)]
pub(super) struct Locks(#[expect(dead_code, reason = "kept for their drop")] Vec<Flock<File>>);

impl Locks {
    /// Takes a lock on each of the directories that can be locked.
    pub(super) fn take<'a>(directories: impl Iterator<Item = &'a Dir>) -> Self {
        let mut directories: Vec<_> = directories
            .filter_map(|directory| {
                let found = directory.dir_metadata().ok()?;
                Some(((found.dev(), found.ino()), directory))
            })
            .collect();
        // In one order for all hosts, so that no two wait for each other.
        directories.sort_by_key(|(identity, _)| *identity);
        directories.dedup_by_key(|(identity, _)| *identity);
        let until = Instant::now() + PATIENCE;
        let locks = directories
            .into_iter()
            .filter_map(|(_, directory)| lock(directory, until));
        Self(locks.collect())
    }
}

fn lock(directory: &Dir, until: Instant) -> Option<Flock<File>> {
    // A descriptor that only names a directory cannot be locked.
    let opened = directory.open_with(".", OpenOptions::new().read(true));
    let mut file = opened.ok()?.into_std();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Some(locked),
            Err((same, Errno::EWOULDBLOCK)) if Instant::now() < until => file = same,
            Err((_, errno)) => {
                tracing::debug!(%errno, "a directory is written to without a lock");
                return None;
            }
        }
        std::thread::sleep(PAUSE);
    }
}
