//! Locks on directories, so that only one host at a time writes in a directory.

use std::fs::File;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, OpenOptions};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// The longest wait for a lock. A host holds a lock only while it checks and renames. A process that holds one for longer is
/// most likely no host, so the write goes on without the lock.
const PATIENCE: Duration = Duration::from_millis(500);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(1);

/// Locks on directories, until they are dropped.
#[derive(Debug)]
pub(in crate::files) struct Locks(
    #[expect(dead_code, reason = "kept for their drop")] Vec<Flock<File>>,
);

impl Locks {
    /// Takes a lock on each of the directories that can be locked. All hosts lock them in the same order, so that no two wait
    /// for each other.
    pub(in crate::files) fn take<'a>(directories: impl Iterator<Item = &'a Dir>) -> Self {
        let until = Instant::now() + PATIENCE;
        Self(
            directories
                .filter_map(|directory| lock(directory, until))
                .collect(),
        )
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
                tracing::warn!(%errno, "a directory is written to without its lock");
                return None;
            }
        }
        std::thread::sleep(PAUSE);
    }
}
