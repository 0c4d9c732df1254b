//! Making directories where commands write: they can have put anything there.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with, statat,
};
use rustix::io::{Errno, Result};

/// Opens a directory, but no link to one.
const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Makes directories with this mode below a directory, as far as they are missing, and returns the last one. Follows no link. `None` if
/// something else is in place of a directory, or a directory cannot be written.
pub(crate) fn make(root: &Path, below: &Path, mode: Mode) -> Result<Option<OwnedFd>> {
    match made(root, below, mode) {
        Ok(made) => Ok(Some(made)),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NAMETOOLONG | Errno::ROFS) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Makes way for a directory or a file below a directory: what else is there, or in place of a directory above it, gets another name.
/// Does nothing if a directory cannot be written.
pub(crate) fn clear(root: &Path, below: &Path, is_dir: bool) -> Result<()> {
    match cleared(root, below, is_dir) {
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NAMETOOLONG | Errno::ROFS) => {
            Ok(())
        }
        done => done,
    }
}

fn cleared(root: &Path, below: &Path, is_dir: bool) -> Result<()> {
    let mut at = openat(CWD, root, DIRECTORY, Mode::empty())?;
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        let name = part.as_os_str();
        let found = match statat(&at, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => FileType::from_raw_mode(found?.st_mode),
        };
        let is_last = parts.peek().is_none();
        if found.is_dir() != (!is_last || is_dir) {
            return move_aside(&at, name);
        }
        if !is_last {
            at = openat(&at, name, DIRECTORY, Mode::empty())?;
        }
    }
    Ok(())
}

/// Gives an entry of a directory another name: `name.moved-1`, or the first number that is free.
fn move_aside(at: &OwnedFd, name: &OsStr) -> Result<()> {
    const MOST: usize = 1000;
    for number in 1..MOST {
        let mut other = name.to_owned();
        other.push(format!(".moved-{number}"));
        match renameat_with(at, name, at, &other, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            done => return done,
        }
    }
    Ok(())
}

fn made(root: &Path, below: &Path, mode: Mode) -> Result<OwnedFd> {
    let mut at = openat(CWD, root, DIRECTORY, Mode::empty())?;
    for part in below.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL);
        };
        at = match openat(&at, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(&at, name, mode) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                openat(&at, name, DIRECTORY, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(at)
}
