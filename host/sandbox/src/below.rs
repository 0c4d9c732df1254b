//! Making directories where commands write: they can have put anything there.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::time::SystemTime;

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
        // A command can remove a directory at this moment.
        Err(
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::ACCESS
            | Errno::NAMETOOLONG
            | Errno::ROFS,
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes way for a directory or a file below a directory: what else is there, or in place of a directory above it, gets another name.
pub(crate) fn clear(root: &Path, below: &Path, is_dir: bool) -> Result<()> {
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

/// Gives an entry of a directory another name: `name.moved-1`, or another number if that is taken.
fn move_aside(at: &OwnedFd, name: &OsStr) -> Result<()> {
    /// As much of the name as leaves room for the rest of the new one.
    const LENGTH: usize = 200;
    let name_before = name.as_bytes();
    let begin = name_before.get(..LENGTH).unwrap_or(name_before);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos());
    for number in (1..10).chain(time..time + 10) {
        let other = [begin, format!(".moved-{number}").as_bytes()].concat();
        let other = OsStr::from_bytes(&other);
        match renameat_with(at, name, at, other, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            done => return done,
        }
    }
    Err(Errno::EXIST)
}

/// Returns a path relative to the root.
pub(crate) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
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
