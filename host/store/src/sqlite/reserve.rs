//! The reserve: a file that keeps as much room on the disk as a start needs. If the disk is full, a start removes the file, so that the
//! host reads its store, and goes on to write there once there is room.

use std::io;

use toolhost_state::state_dir::StateDir;

/// The name of the file.
const FILE: &str = "store.reserve";

/// Its size in bytes. SQLite needs 32 KiB for the shared memory of the log, and some pages.
const BYTES: usize = 128 << 10;

/// Makes the reserve unless there is one. A full disk keeps none.
pub(super) fn keep(directory: &StateDir) {
    let made = directory.inode(FILE).and_then(|is_there| match is_there {
        Some(_) => Ok(()),
        None => directory.write(FILE, &[0x5a; BYTES]),
    });
    if let Err(error) = made {
        tracing::debug!(%error, "the store has no reserve for a start on a full disk");
    }
}

/// Frees the reserve. Returns whether there was one.
pub(super) fn free(directory: &StateDir) -> io::Result<bool> {
    let is_there = directory.inode(FILE)?.is_some();
    directory.remove(FILE)?;
    Ok(is_there)
}
