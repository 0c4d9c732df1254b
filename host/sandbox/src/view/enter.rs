//! Entering a view, as the first process of new namespaces.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountAttrFlags, MountPropagationFlags, mount_change};

use super::mounts::{EMPTY, FileSystem, Mount};
use super::{NetworkAccess, Shown, Step, View, copies, loopback};
use crate::below;
use crate::reach::is_out_of_reach;

/// The root and the socket of a view that a process has entered.
#[derive(Debug)]
pub struct Entered {
    /// The root of the view. The host opens the paths of Landlock rules below it.
    pub root: OwnedFd,
    /// The socket of the proxy, if the network is a list of hosts. It listens at 127.0.0.1 in these namespaces.
    pub listener: Option<TcpListener>,
}

impl Entered {
    /// Opens a path of the view, without a right to read or write it.
    ///
    /// # Errors
    ///
    /// If it does not exist.
    pub fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let below = below::relative(path);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        Ok(openat(&self.root, below, flags, Mode::empty())?)
    }

    /// Returns all descriptors, in the order that [`View::entered`] expects.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let root = std::iter::once(self.root.as_fd());
        root.chain(self.listener.iter().map(AsFd::as_fd))
    }
}

/// A reason why a view cannot be entered. The process must end.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {error}")]
pub struct EnterError {
    /// The step that failed, such as "mount at /proc".
    pub what: String,
    /// The error of the system.
    pub error: io::Error,
}

const PROCESSES: FileSystem<'static> = FileSystem {
    kind: c"proc",
    options: &[],
    attributes: MountAttrFlags::MOUNT_ATTR_NOSUID
        .union(MountAttrFlags::MOUNT_ATTR_NODEV)
        .union(MountAttrFlags::MOUNT_ATTR_NOEXEC),
};

const MEMORY: FileSystem<'static> = FileSystem {
    kind: c"tmpfs",
    options: &[(c"mode", c"1777")],
    attributes: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV),
};

const TERMINALS: FileSystem<'static> = FileSystem {
    kind: c"devpts",
    options: &[(c"ptmxmode", c"0666"), (c"mode", c"0620")],
    attributes: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC),
};

/// How often a path is shown where something else is, and what a start says that gives up.
const MOST_TRIES: u32 = 50;
const REPLACED: &str =
    "a command of another chat puts something else there again and again; end that command";

/// The mode of directories that the view needs and nothing shows.
const OF_OTHERS: Mode = Mode::WGRP.union(Mode::WOTH);

/// The mode of directories that lead to what commands may write.
const OF_OWN: Mode = Mode::RWXU;

impl View {
    /// Sets up this view in the namespaces of this process. The process must be the first one in the namespaces of
    /// [`View::namespaces`], and the users of its user namespace must be mapped. Afterwards, its working directory is `/`.
    ///
    /// A path that does not exist, or leads through a link now, is left out.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a step.
    pub fn enter(&self) -> Result<Entered, EnterError> {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).map_err(failed(|| "make mounts private".into()))?;
        // All mounts are made while the files of the machine are there, and attached in the new root.
        let mounts = self.mounts()?;
        let root = Mount::new(&EMPTY).and_then(|root| root.become_root().map(|()| root));
        let root = root.map_err(failed(|| "make a new root".into()))?;
        let umask = rustix::process::umask(OF_OTHERS);
        self.show(mounts)?;
        rustix::process::umask(umask);
        let done = root.make_itself_read_only();
        done.map_err(failed(|| "make the root read-only".into()))?;
        if self.network != NetworkAccess::Open {
            loopback::up().map_err(failed(|| "bring the loopback interface up".into()))?;
        }
        let listener = match self.network {
            NetworkAccess::Proxy => {
                let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
                Some(bound.map_err(failed(|| "listen on the loopback interface".into()))?)
            }
            NetworkAccess::Open | NetworkAccess::None => None,
        };
        let root = root.into_descriptor();
        Ok(Entered { root, listener })
    }

    /// Makes the mount of each step; `None` for a step that needs none, or whose files do not exist.
    fn mounts(&self) -> Result<Vec<Option<Mount>>, EnterError> {
        let made = self.steps.iter().map(|step| {
            let made = match &step.shown {
                Shown::Directory | Shown::Link { .. } | Shown::Nothing | Shown::Itself => Ok(None),
                Shown::Files { of, writable } => files(of, *writable),
                Shown::Copies { of } => copies::of(of).map(Some),
                Shown::Socket { of } | Shown::Layer { of } => Mount::of(of),
                Shown::Processes => Mount::new(&PROCESSES).map(Some),
                Shown::Memory => Mount::new(&MEMORY).map(Some),
                Shown::Terminals => Mount::new(&TERMINALS).map(Some),
            };
            made.map_err(failed(|| format!("mount at {}", step.path.display())))
        });
        made.collect()
    }

    /// Shows each step in the new root.
    fn show(&self, mounts: Vec<Option<Mount>>) -> Result<(), EnterError> {
        let empty = Empty::new().map_err(failed(|| "make an empty file".into()))?;
        let mut hidden = Vec::new();
        for (Step { path, shown }, mount) in self.steps.iter().zip(mounts) {
            let done = match (shown, mount) {
                (Shown::Directory, _) => fs::create_dir_all(path),
                (Shown::Link { to }, _) => link(path, to),
                (Shown::Nothing, _) => {
                    let mut others = self.steps.iter();
                    let has_below =
                        others.any(|step| step.path != *path && step.path.starts_with(path));
                    let hide = hide(path, &empty, has_below);
                    hide.map(|mount| hidden.extend(mount))
                }
                (Shown::Itself, _) => show_itself(path),
                (shown, Some(mount)) if shown.is_needed() => attach(&mount, path),
                (_, Some(mount)) => mount.attach_or_create(path).map(drop),
                (_, None) => Ok(()),
            };
            done.map_err(failed(|| format!("show {}", path.display())))?;
        }
        for mount in hidden {
            let done = mount.make_itself_read_only();
            done.map_err(failed(|| "make a hidden path read-only".into()))?;
        }
        Ok(())
    }
}

/// Attaches a mount that a view needs. If something else is there, that gets another name first.
fn attach(mount: &Mount, path: &Path) -> io::Result<()> {
    let is_dir = mount.is_directory()?;
    make_way(path, is_dir, || mount.attach_or_create(path))
}

/// Makes a directory of the view a mount of its own. If something else is there, that gets another name first.
fn show_itself(path: &Path) -> io::Result<()> {
    make_way(path, true, || {
        match below::make(Path::new("/"), below::relative(path), OF_OWN)? {
            Some(found) => Mount::of_open(&found)?.attach(path),
            None => Ok(false),
        }
    })
}

/// Shows something at a path: `show` returns `false` if something else is there, which then gets another name. A command of another chat
/// can put something there at the same time.
fn make_way(
    path: &Path,
    is_dir: bool,
    mut show: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    for _ in 0..MOST_TRIES {
        let shown = show().and_then(|shown| {
            if !shown {
                below::clear(Path::new("/"), below::relative(path), is_dir)?;
            }
            Ok(shown)
        });
        match shown {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // It was there a moment ago, or was not.
            Err(error) if is_out_of_reach(&error) || error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, REPLACED))
}

/// Makes the mount that shows the files at a path.
fn files(of: &Path, writable: bool) -> io::Result<Option<Mount>> {
    let mount = Mount::of(of)?;
    if let Some(mount) = mount.as_ref().filter(|_| !writable) {
        mount.make_read_only()?;
    }
    Ok(mount)
}

fn link(path: &Path, to: &Path) -> io::Result<()> {
    path.parent().map(fs::create_dir_all).transpose()?;
    std::os::unix::fs::symlink(to, path)
}

/// The file and the directory that hidden paths show.
struct Empty {
    /// A file that only root can open.
    file: OwnedFd,
    /// A directory. A file system takes longer to make than all else of a hidden path, so the hidden directories share this one.
    directory: OwnedFd,
}

impl Empty {
    /// Makes both in a file system that is at `/proc` until the processes of the namespaces are shown there.
    fn new() -> io::Result<Self> {
        Mount::new(&EMPTY)?.attach_or_create(Path::new("/proc"))?;
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o0)
            .open("/proc/file")?;
        fs::create_dir("/proc/directory")?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let open = |path| openat(CWD, path, flags, Mode::empty());
        Ok(Self {
            file: open(c"/proc/file")?,
            directory: open(c"/proc/directory")?,
        })
    }
}

/// Mounts an empty directory or file over a path; `None` if the path does not exist. A directory in which later steps make mount points
/// (`has_below`) is one of its own. The caller must make the mount read-only, after these steps.
fn hide(path: &Path, empty: &Empty, has_below: bool) -> io::Result<Option<Mount>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_out_of_reach(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mount = match (metadata.is_dir(), has_below) {
        (true, true) => Mount::new(&EMPTY)?,
        (true, false) => Mount::of_open(&empty.directory)?,
        (false, _) => Mount::of_open(&empty.file)?,
    };
    Ok(mount.attach(path)?.then_some(mount))
}

pub(super) fn failed<E: Into<io::Error>>(
    what: impl FnOnce() -> String,
) -> impl FnOnce(E) -> EnterError {
    |error| EnterError {
        what: what(),
        error: error.into(),
    }
}
