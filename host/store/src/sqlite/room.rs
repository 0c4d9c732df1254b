//! Room on the disk: space that the store takes while there is some, so that calls are stored for a while after the disk is full.
//!
//! The write-ahead log has blocks behind its end, into which it grows. A start needs space before it has a log: for that, the *reserve* is a
//! file that the start removes.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::statvfs::{Statvfs, fstatvfs, statvfs};
use toolhost_state::state_dir::StateDir;

use super::beside;

/// The most bytes that the log has. The beginning and the end of a call take some 20 KiB.
const LOG: u64 = 64 << 20;

/// The name of the reserve.
const RESERVE: &str = "store.reserve";

/// The least bytes of the reserve. SQLite needs 32 KiB for the shared memory of the log, and some pages.
const LEAST: u64 = 128 << 10;

/// The most bytes of the reserve.
const MOST: u64 = 4 << 20;

/// The bytes that the index of the log needs for each byte of the log, as a fraction: SQLite has eight bytes for each page, in tables.
const INDEX: u64 = 192;

/// The room of an open store.
#[derive(Debug)]
pub(super) struct Room {
    log: File,
    /// SQLite locks this file. It must stay open as long as the store does: if a process closes any descriptor of a file, it loses its locks
    /// (fcntl(2)).
    index: File,
}

impl Room {
    /// Takes room for the log of a store that is open, as far as there is some; `None` if the system refuses.
    pub(super) fn take(path: &Path) -> Option<Self> {
        let open = |suffix| OpenOptions::new().write(true).open(beside(path, suffix));
        let opened = open("-wal").and_then(|log| {
            let index = open("-shm")?;
            Ok(Self { log, index })
        });
        if let Err(error) = &opened {
            tell(error);
        }
        let room = opened.ok()?;
        room.renew();
        Some(room)
    }

    /// Takes the room again that was used, at most a quarter of the bytes that are free.
    pub(super) fn renew(&self) {
        let free = fstatvfs(&self.log).map(|disk| free_bytes(&disk));
        let renewed = free.map_err(io::Error::from).and_then(|free| {
            let bytes = LOG.min(self.log.metadata()?.len() + free / 4);
            allocate(&self.index, bytes / INDEX + LEAST)?;
            allocate(&self.log, bytes)
        });
        if let Err(error) = renewed {
            tell(&error);
        }
    }
}

fn tell(error: &io::Error) {
    tracing::debug!(%error, "the log of the store has no room for a full disk");
}

/// Takes blocks for a file. Its end stays where it is.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    Ok(fallocate(
        file,
        FallocateFlags::FALLOC_FL_KEEP_SIZE,
        0,
        bytes,
    )?)
}

/// Makes the reserve unless there is one. If that fails, as on a full disk, the store works without it.
pub(super) fn make_reserve(directory: &StateDir) {
    let made = has_reserve(directory).and_then(|is_there| {
        if is_there {
            return Ok(());
        }
        let bytes = (free_bytes(&statvfs(directory.path())?) / 16).clamp(LEAST, MOST);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        directory.write(RESERVE, &vec![0x5a; bytes])
    });
    if let Err(error) = made {
        tracing::debug!(%error, "the reserve of the store cannot be made: a start on a full disk may fail");
    }
}

/// Returns whether there is a reserve, which only a directory with a store has.
pub(super) fn has_reserve(directory: &StateDir) -> io::Result<bool> {
    Ok(directory.inode(RESERVE)?.is_some())
}

/// Removes the reserve to free its space. Returns whether there was one.
pub(super) fn free_reserve(directory: &StateDir) -> io::Result<bool> {
    let is_there = has_reserve(directory)?;
    directory.remove(RESERVE)?;
    Ok(is_there)
}

fn free_bytes(disk: &Statvfs) -> u64 {
    disk.blocks_available() * disk.fragment_size()
}
