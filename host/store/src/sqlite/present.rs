//! Whether a state directory has a store that can be opened.

use std::path::Path;

use toolhost_state::state_dir::StateDir;

use super::fault::Fault;
use super::{FILE, log_bytes, room, schema};

/// The size of a page in bytes.
pub(super) const PAGE: u16 = 2048;

/// The bytes of the header up to the end of the application id.
const HEADER: usize = 72;

/// The prefix of the name of the mark. The rest is the time in the names of the files that are set aside.
pub(super) const MARK: &str = "store.recovering-";

/// Returns the time in the name of the mark; `None` if no recovery was interrupted.
pub(super) fn interrupted(directory: &StateDir) -> std::io::Result<Option<String>> {
    let entries = directory.entries()?;
    let mut times = entries
        .iter()
        .filter_map(|entry| entry.name.strip_prefix(MARK));
    Ok(times.next().map(str::to_owned))
}

/// Returns whether there is a file with a store. Fails if the file is damaged in a way that SQLite would take for an empty or a
/// shorter store, or if a recovery was interrupted.
pub(super) fn is_there(directory: &StateDir, path: &Path) -> Result<bool, Fault> {
    if interrupted(directory)?.is_some() {
        return Err(Fault::Torn("its recovery was interrupted"));
    }
    let log = log_bytes(path);
    let Some(mut file) = directory.open_file(FILE)? else {
        return match log > 0 || room::has_reserve(directory)? {
            true => Err(Fault::Torn(
                "the file is missing, but others of the store exist",
            )),
            false => Ok(false),
        };
    };
    let length = file.metadata()?.len();
    if length == 0 {
        return match log > 0 || room::has_reserve(directory)? {
            true => Err(Fault::Torn(
                "the file is empty, but others of the store are not",
            )),
            false => Ok(false),
        };
    }
    let mut header = [0; HEADER];
    std::io::Read::read_exact(&mut file, &mut header)
        .map_err(|_| Fault::Torn("the file ends in its header"))?;
    // The magic string, and the sizes with which SQLite reads the rest. Version 2 stands for a write-ahead log, and version 1 for a
    // file that has none yet, such as a backup.
    let sound = |version| {
        let [high, low] = PAGE.to_be_bytes();
        let sizes = [high, low, version, version, 0, 64, 32, 32];
        header.starts_with(b"SQLite format 3\0") && header.get(16..24) == Some(sizes.as_slice())
    };
    if !sound(1) && !sound(2) {
        return Err(match header.ends_with(&schema::APPLICATION.to_be_bytes()) {
            true => Fault::Torn("the header is damaged"),
            false => Fault::Foreign,
        });
    }
    if sound(1) && log > 0 {
        return Err(Fault::ForeignLog);
    }
    if log == 0 && length % u64::from(PAGE) != 0 {
        return Err(Fault::Torn("the file ends within a page"));
    }
    Ok(true)
}
