//! Detached mounts: mounts that are at no path yet, and attaching them.

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

/// A detached mount.
pub(super) struct Mount(OwnedFd);

/// A file system to make: its type, its options, and the attributes of its mount, such as `MOUNT_ATTR_NOEXEC`.
pub(super) struct FileSystem<'a> {
    pub(super) kind: &'static CStr,
    pub(super) options: &'a [(&'static CStr, &'static CStr)],
    pub(super) attributes: MountAttrFlags,
}

impl Mount {
    /// Makes a bind mount of a path, with all mounts below it. `None` if the path does not exist or contains a link now.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        open(path)?.map(|place| Self::of_open(&place)).transpose()
    }

    /// Does the same as [`Mount::of`], for an open path.
    pub(super) fn of_open(place: &OwnedFd) -> io::Result<Self> {
        let recursive = OpenTreeFlags::from_bits_retain(libc::AT_RECURSIVE.unsigned_abs());
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | recursive;
        Ok(Self(open_tree(place, c"", flags)?))
    }

    /// Makes a new file system.
    pub(super) fn new(system: &FileSystem<'_>) -> io::Result<Self> {
        let context = fsopen(system.kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (option, value) in system.options {
            fsconfig_set_string(&context, *option, *value)?;
        }
        fsconfig_create(&context)?;
        Ok(Self(fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            system.attributes,
        )?))
    }

    /// Makes the mount and all mounts below it read-only.
    pub(super) fn make_read_only(&self) -> io::Result<()> {
        Ok(sys::set_read_only(self.0.as_fd(), c"", true)?)
    }

    /// Makes the mount read-only, but not the mounts below it.
    pub(super) fn make_itself_read_only(&self) -> io::Result<()> {
        Ok(sys::set_read_only(self.0.as_fd(), c"", false)?)
    }

    /// Attaches the mount at a path. Returns `false` if the path does not exist or contains a link now.
    pub(super) fn attach(&self, path: &Path) -> io::Result<bool> {
        let Some(place) = open(path)? else {
            return Ok(false);
        };
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.0, c"", &place, c"", flags)?;
        Ok(true)
    }

    /// Attaches the mount at a path. If the path does not exist, makes an empty directory or file there first.
    pub(super) fn attach_or_create(&self, path: &Path) -> io::Result<()> {
        if self.attach(path)? {
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
        match self.attach(path)? {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn into_descriptor(self) -> OwnedFd {
        self.0
    }
}

/// Opens a path that contains no links. `None` if the path does not exist or contains one.
fn open(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
