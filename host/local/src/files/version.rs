//! By what it is told that a file has changed.
//!
//! Times alone do not tell: the kernel's clock for files stands still for milliseconds, and a file that is written twice
//! meanwhile has the same. Whatever can be edited is small enough to be hashed.

use std::fs::File;
use std::io::Read;

use cap_std::fs::{Metadata, MetadataExt};

use super::{Error, MAX_READ};

/// How often a file is read that is written meanwhile.
const TRIES: usize = 4;

/// Returns the version of content that is at hand.
pub(super) fn of_content(content: &[u8]) -> String {
    shorten('c', blake3::hash(content))
}

/// Returns the version of a file that is too large to be read for it.
pub(super) fn of_stat(found: &Metadata) -> String {
    let mut hasher = blake3::Hasher::new();
    for number in [found.dev(), found.ino(), found.size()] {
        hasher.update(&number.to_le_bytes());
    }
    for number in [
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ] {
        hasher.update(&number.to_le_bytes());
    }
    shorten('s', hasher.finalize())
}

/// 128 bits are enough: nobody gains by two contents with one version.
fn shorten(kind: char, hash: blake3::Hash) -> String {
    let hex = hash.to_hex();
    format!("{kind}{}", hex.get(..32).unwrap_or_default())
}

/// Returns the version of an open file, and what the system says of it.
pub(super) fn of(file: &File) -> Result<(String, Metadata), Error> {
    let (content, found) = whole(file)?;
    let version = content.map_or_else(|| of_stat(&found), |content| of_content(&content));
    Ok((version, found))
}

/// Returns all of a file if it is small enough, and what the system says of it.
///
/// Where it is written meanwhile, it is read again: what is half old and half new was never there.
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
        let same = times(&before) == times(&after) || tries == TRIES;
        match (large, same) {
            (true, true) => return Ok((None, after)),
            (false, true) => return Ok((Some(content), after)),
            (_, false) => (before, tries) = (after, tries + 1),
        }
    }
}

fn times(found: &Metadata) -> (i64, i64, i64, i64, u64) {
    (
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
        found.size(),
    )
}

/// Reads a file from its start, but not much more than is ever wanted of one: some say that they are empty, and are not.
fn from_start(mut file: &File, size: u64) -> Result<Vec<u8>, Error> {
    std::io::Seek::rewind(&mut file)?;
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(MAX_READ as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}
