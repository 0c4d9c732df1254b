//! File versions, which tell whether a file has changed.
//!
//! Times alone do not suffice: the kernel's clock for files stands still for milliseconds, so two writes within that time
//! leave the same time. Every file that can be edited is small enough to be hashed.

use std::fs::File;
use std::io::Read;

use cap_std::fs::{Metadata, MetadataExt};

use super::{Error, MAX_READ};

/// The most times that a file is read if it changes while it is being read.
const TRIES: usize = 4;

/// Returns the version of content in memory.
pub(super) fn of_content(content: &[u8]) -> String {
    shorten('c', blake3::hash(content))
}

/// Returns the version of a file that is too large to be hashed.
pub(super) fn of_stat(found: &Metadata) -> String {
    let mut hasher = blake3::Hasher::new();
    for number in [found.dev(), found.ino()].into_iter().chain(stamp(found)) {
        hasher.update(&number.to_le_bytes());
    }
    shorten('s', hasher.finalize())
}

/// 128 bits are enough: an attacker gains nothing from two contents with the same version.
fn shorten(kind: char, hash: blake3::Hash) -> String {
    let hex = hash.to_hex();
    format!("{kind}{}", hex.get(..32).unwrap_or_default())
}

/// Returns the version of an open file, and its metadata.
pub(super) fn of(file: &File) -> Result<(String, Metadata), Error> {
    let (content, found) = whole(file)?;
    let version = content.map_or_else(|| of_stat(&found), |content| of_content(&content));
    Ok((version, found))
}

/// Returns all of a file if it is small enough, and its metadata.
///
/// If the file changes meanwhile, it is read again: a mix of old and new content never existed as a version.
pub(super) fn whole(file: &File) -> Result<(Option<Vec<u8>>, Metadata), Error> {
    let mut before = Metadata::from_file(file)?;
    let mut tries = 1;
    loop {
        if before.len() > MAX_READ as u64 {
            return Ok((None, before));
        }
        let content = from_start(file, before.len())?;
        let after = Metadata::from_file(file)?;
        let large = content.len() > MAX_READ;
        let same = stamp(&before) == stamp(&after) || tries == TRIES;
        match (large, same) {
            (true, true) => return Ok((None, after)),
            (false, true) => return Ok((Some(content), after)),
            (_, false) => (before, tries) = (after, tries + 1),
        }
    }
}

/// Returns the numbers that change when a file is written to.
fn stamp(found: &Metadata) -> [u64; 5] {
    let times = [
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ];
    let [mtime, mtime_nsec, ctime, ctime_nsec] = times.map(i64::cast_unsigned);
    [found.size(), mtime, mtime_nsec, ctime, ctime_nsec]
}

/// Reads a file from its start, up to one byte past the largest size. Some files report a size of 0 but are not empty.
fn from_start(mut file: &File, size: u64) -> Result<Vec<u8>, Error> {
    std::io::Seek::rewind(&mut file)?;
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(MAX_READ as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}
