//! Access control lists, which let more users use a file than its mode says.
//!
//! If a file has a list, the bits of the group in its mode are the most rights of any entry of the list, not the rights of the
//! group. A new file with the mode alone would give these rights to the group.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use cap_std::fs::{Dir, Metadata, MetadataExt, Permissions, PermissionsExt};
use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use crate::files::open;

/// Where the kernel shows the list.
const NAME: &str = "system.posix_acl_access";

/// The longest list that is kept, in bytes.
const MAX: usize = 4096;

/// Gives a new file the list of the file that it will replace. If that file has no list, removes that of the new one.
pub(super) fn keep(directory: &Dir, name: &OsStr, new: &File, old: &Metadata) -> io::Result<()> {
    // The list of a file that may be written but not read cannot be read either.
    let mut list = vec![0; MAX];
    let length = match open::regular(directory, name) {
        Ok(file) => fgetxattr(&file, NAME, &mut list),
        Err(_) => Err(Errno::ACCESS),
    };
    let kept = match length {
        Ok(length) => {
            list.truncate(length);
            fsetxattr(new, NAME, &list, XattrFlags::empty())
        }
        // The old file has no list. The new one may have one from its directory.
        Err(Errno::NODATA) => match fremovexattr(new, NAME) {
            Err(Errno::NODATA) => return Ok(()),
            removed => {
                removed?;
                return set_mode(new, old.mode() & 0o1777);
            }
        },
        // This file system has no such lists.
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(errno) => Err(errno),
    };
    match kept {
        Ok(()) => Ok(()),
        // Without the list, too few users may use the file rather than too many.
        Err(_) => set_mode(new, old.mode() & 0o1707),
    }
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode).into_std(file)?)
}
