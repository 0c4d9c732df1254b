//! Making directories where commands write: they can have put anything there.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::{Errno, Result};

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

fn made(root: &Path, below: &Path, mode: Mode) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, flags, Mode::empty())?;
    for part in below.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL);
        };
        at = match openat(&at, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(&at, name, mode) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                openat(&at, name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(at)
}
