//! Opening one name in an open directory, never through a link.

use std::ffi::OsStr;
use std::fs::File;

use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::metadata::kind;
use super::{Error, Kind};

/// Opens a regular file by its name alone. Refuses every other kind: opening a device can have an effect, and opening a pipe
/// can block.
pub(super) fn regular(parent: &Dir, name: &OsStr) -> Result<File, Error> {
    let check = |found: &Metadata| match kind(found.file_type()) {
        Kind::File => Ok(()),
        _ => Err(Error::NotAFile),
    };
    check(&parent.symlink_metadata(name)?)?;
    let mut options = OpenOptions::new();
    // Another file may take the name between the check and the opening.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match parent.open_with(name, &options) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(Error::NotAFile);
        }
        opened => opened?.into_std(),
    };
    check(&Metadata::from_file(&file)?)?;
    Ok(file)
}

/// Opens a directory by its name alone. Fails if the name is not that of a directory.
pub(super) fn directory(parent: &Dir, name: &OsStr) -> std::io::Result<Dir> {
    let mut options = OpenOptions::new();
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let opened = parent.open_with(name, &options)?;
    Ok(Dir::from_std_file(opened.into_std()))
}
