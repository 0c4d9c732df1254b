//! The reserve: a file that reserves the disk space that a start needs. If the disk is full, a start removes the reserve and can open the
//! store. Changes are stored once there is space again.

use std::io;

use toolhost_state::state_dir::StateDir;

/// The name of the file.
const FILE: &str = "store.reserve";

/// The size of the file in bytes. SQLite needs 32 KiB for the shared memory of the log, and some pages.
const BYTES: usize = 128 << 10;

/// Creates the reserve unless there is one. If that fails, as on a full disk, the store works without it.
pub(super) fn create(directory: &StateDir) {
    let made = directory.inode(FILE).and_then(|is_there| match is_there {
        Some(_) => Ok(()),
        None => directory.write(FILE, &[0x5a; BYTES]),
    });
    if let Err(error) = made {
        tracing::debug!(%error, "the reserve of the store cannot be created: a start on a full disk may fail");
    }
}

/// Removes the reserve to free its space. Returns whether there was one.
pub(super) fn free(directory: &StateDir) -> io::Result<bool> {
    let is_there = directory.inode(FILE)?.is_some();
    directory.remove(FILE)?;
    Ok(is_there)
}
