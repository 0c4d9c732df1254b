//! Detached mounts: mounts that are at no path yet, and attaching them.

use std::ffi::CStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
    open_tree, unmount,
};

use crate::below;
use crate::home::Layer;
use crate::sys;

/// A detached mount.
pub(super) struct Mount(OwnedFd);

/// A file system to make: its type, its options, and the attributes of its mount, such as `MOUNT_ATTR_NOEXEC`.
pub(super) struct FileSystem<'a> {
    pub(super) kind: &'static CStr,
    pub(super) options: &'a [(&'static CStr, &'static CStr)],
    pub(super) attributes: MountAttrFlags,
}

/// The file system of the root, and of a hidden directory.
pub(super) const EMPTY: FileSystem<'static> = FileSystem {
    kind: c"tmpfs",
    options: &[(c"mode", c"0755"), (c"size", c"1m")],
    attributes: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV),
};

/// The mode of a directory that the view needs, and that nothing shows.
const OF_A_PLACE: Mode = Mode::from_raw_mode(0o755);

impl AsFd for Mount {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Mount {
    /// Makes a bind mount of a path, with all mounts below it. `None` if the path does not exist or leads through a link now.
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
        fsconfig_set_string(&context, c"source", c"toolhost")?;
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

    /// Makes a file system with layers. It keeps its notes in attributes that need no privilege.
    pub(super) fn layers(layer: &Layer) -> io::Result<Self> {
        let open = |path: &PathBuf| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(CWD, path, flags, Mode::empty())
        };
        // An option has at most 255 bytes, a colon separates directories in it, and programs in the view can read it.
        let named = |place: &OwnedFd| format!("/proc/self/fd/{}", place.as_raw_fd());
        let beneath = layer
            .lower
            .iter()
            .map(open)
            .collect::<Result<Vec<_>, _>>()?;
        let [upper, work] = [open(&layer.upper)?, open(&layer.work)?];
        let context = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let lower: Vec<_> = beneath.iter().map(named).collect();
        fsconfig_set_string(&context, c"lowerdir", lower.join(":"))?;
        fsconfig_set_string(&context, c"upperdir", named(&upper))?;
        fsconfig_set_string(&context, c"workdir", named(&work))?;
        fsconfig_set_flag(&context, c"userxattr")?;
        // Else the kernel writes everything of the file system of the upper directory to the disk when the mount ends.
        fsconfig_set_flag(&context, c"volatile")?;
        fsconfig_create(&context)?;
        // The kernel makes directories without rights, which their owner could not remove as any other.
        for made in ["work", "work/incompat", "work/incompat/volatile"] {
            _ = fs::set_permissions(layer.work.join(made), Permissions::from_mode(0o700));
        }
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        Ok(Self(fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            attributes,
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

    /// Attaches the mount at a path. Returns `false` if the path does not exist or leads through a link now.
    pub(super) fn attach(&self, path: &Path) -> io::Result<bool> {
        match open(path)? {
            Some(place) => self.attach_at(&place),
            None => Ok(false),
        }
    }

    /// As [`Mount::attach`], at an open path.
    fn attach_at(&self, place: &OwnedFd) -> io::Result<bool> {
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        match move_mount(&self.0, c"", place, c"", flags) {
            Ok(()) => Ok(true),
            // It has been removed since it was opened.
            Err(Errno::NOENT) => Ok(false),
            // One of them is a directory, and the other is none. The kernel has two errors for that, and others for one of them.
            Err(Errno::NOTDIR | Errno::INVAL) if self.is_directory()? != is_directory(place)? => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_directory(&self) -> io::Result<bool> {
        is_directory(&self.0)
    }

    /// Attaches the mount at a path. If the path does not exist, makes an empty directory or file there first. Returns `false` if something
    /// else is there, as a command can have made it in its home.
    pub(super) fn attach_or_create(&self, path: &Path) -> io::Result<bool> {
        if self.attach(path)? {
            return Ok(true);
        }
        let below = below::relative(path);
        if self.is_directory()? {
            let made = below::make(Path::new("/"), below, OF_A_PLACE)?;
            return made.map_or(Ok(false), |place| self.attach_at(&place));
        }
        if let (Some(parent), Some(name)) = (below.parent(), below.file_name())
            && let Some(parent) = below::make(Path::new("/"), parent, OF_A_PLACE)?
        {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            match openat(parent, name, flags, Mode::from_raw_mode(0o644)) {
                Ok(_) | Err(Errno::EXIST | Errno::NOENT | Errno::ACCESS | Errno::ROFS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.attach(path)
    }

    pub(super) fn into_descriptor(self) -> OwnedFd {
        self.0
    }

    /// Makes this mount the root of the namespace, and takes the old root away. The mount must not be attached.
    pub(super) fn become_root(&self) -> io::Result<()> {
        // Any directory will do until the root is replaced.
        const PLACE: &str = "/proc";
        self.attach(Path::new(PLACE))?;
        rustix::process::chdir(PLACE)?;
        // Attaches the old root over the new one: see pivot_root(2).
        rustix::process::pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir("/")?)
    }
}

fn is_directory(place: &OwnedFd) -> io::Result<bool> {
    let found = fstat(place)?;
    Ok(FileType::from_raw_mode(found.st_mode).is_dir())
}

/// Opens a path. `None` if it does not exist, or leads through a link. It may be a link itself.
fn open(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
