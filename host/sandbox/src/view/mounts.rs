//! Mounts that no path names yet, and where they go.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use nix::libc;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::sys;

/// A mount that no path names yet.
pub(super) struct Mount(OwnedFd);

/// A file system that this process makes: its name, its options, and what cannot be done with its files.
pub(super) struct New<'a> {
    pub(super) kind: &'static CStr,
    pub(super) options: &'a [(&'static CStr, &'static CStr)],
    pub(super) without: MountAttrFlags,
}

impl Mount {
    /// Takes the files of a path with everything below, as they are now. `None`: there are none, or the path has become a link.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        open(path)?.map(|place| Self::of_open(&place)).transpose()
    }

    /// As [`Mount::of`], for a path that is open.
    pub(super) fn of_open(place: &OwnedFd) -> io::Result<Self> {
        let recursive = OpenTreeFlags::from_bits_retain(libc::AT_RECURSIVE.unsigned_abs());
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | recursive;
        Ok(Self(open_tree(place, c"", flags)?))
    }

    /// Makes a file system.
    pub(super) fn new(new: &New<'_>) -> io::Result<Self> {
        let context = fsopen(new.kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (option, value) in new.options {
            fsconfig_set_string(&context, *option, *value)?;
        }
        fsconfig_create(&context)?;
        Ok(Self(fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            new.without,
        )?))
    }

    /// Lets nothing in it or in the mounts below be changed from now on.
    pub(super) fn read_only(&self) -> io::Result<()> {
        Ok(sys::set_read_only(self.0.as_fd(), c"", true)?)
    }

    /// Lets nothing in it be changed from now on. The mounts below stay as they are.
    pub(super) fn read_only_itself(&self) -> io::Result<()> {
        Ok(sys::set_read_only(self.0.as_fd(), c"", false)?)
    }

    /// Puts the mount at a path. Returns whether that was possible: not if the path does not exist, or has become a link.
    pub(super) fn put_at(&self, path: &Path) -> io::Result<bool> {
        let Some(place) = open(path)? else {
            return Ok(false);
        };
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.0, c"", &place, c"", flags)?;
        Ok(true)
    }

    /// As [`Mount::put_at`], and makes an empty directory or file for it if the path does not exist.
    pub(super) fn put_at_new(&self, path: &Path) -> io::Result<()> {
        if self.put_at(path)? {
            return Ok(());
        }
        let file = File::from(self.0.try_clone()?);
        match file.metadata()?.is_dir() {
            true => fs::create_dir_all(path)?,
            false => {
                path.parent().map(fs::create_dir_all).transpose()?;
                File::create_new(path)?;
            }
        }
        match self.put_at(path)? {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn into_descriptor(self) -> OwnedFd {
        self.0
    }
}

/// Opens a path without links. `None`: there is none.
fn open(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
