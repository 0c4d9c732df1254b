//! Carrying out a view, as the first process of new namespaces.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountAttrFlags, MountPropagationFlags, mount_change};

use super::mounts::{Mount, New};
use super::{Shown, Step, View, Way, loopback};
use crate::sys;

/// What a process finds in its namespaces.
#[derive(Debug)]
pub struct Entered {
    /// The roots of the file systems that are new here, with their paths. A ruleset of Landlock that is made outside needs them.
    pub new: Vec<(PathBuf, OwnedFd)>,
    /// Where the commands of a list of hosts find their proxy: a socket at 127.0.0.1 of these namespaces.
    pub listener: Option<TcpListener>,
}

impl Entered {
    /// Returns all descriptors, for [`View::entered`].
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let roots = self.new.iter().map(|(_, root)| root.as_fd());
        roots.chain(self.listener.iter().map(AsFd::as_fd))
    }
}

/// A view that cannot be carried out. The process must end.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {error}")]
pub struct EnterError {
    /// What failed, such as "mount proc at /proc".
    pub what: String,
    /// The error of the system.
    pub error: io::Error,
}

const PROCESSES: New<'static> = New {
    kind: c"proc",
    options: &[],
    without: MountAttrFlags::MOUNT_ATTR_NOSUID
        .union(MountAttrFlags::MOUNT_ATTR_NODEV)
        .union(MountAttrFlags::MOUNT_ATTR_NOEXEC),
};

const MEMORY: New<'static> = New {
    kind: c"tmpfs",
    options: &[(c"mode", c"1777")],
    without: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV),
};

const TERMINALS: New<'static> = New {
    kind: c"devpts",
    options: &[(c"ptmxmode", c"0666"), (c"mode", c"0620")],
    without: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC),
};

/// For what is hidden.
const EMPTY: New<'static> = New {
    kind: c"tmpfs",
    options: &[(c"mode", c"0755"), (c"size", c"1m")],
    without: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV),
};

impl View {
    /// Turns the namespaces of this process into this view. The process has to be the first one of the namespaces of
    /// [`View::namespaces`], and their users have to be mapped. Afterwards its directory is `/`.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a step. A path that does not exist, or has become a link, is left out.
    pub fn enter(&self) -> Result<Entered, EnterError> {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).map_err(failed(|| "make mounts private".into()))?;
        // They are taken now, because later they could not be written.
        let files = self.files()?;
        sys::set_read_only(CWD, c"/", true).map_err(failed(|| "make / read-only".into()))?;
        let empty = empty_file().map_err(failed(|| "make an empty file".into()))?;
        let mut new = Vec::new();
        let mut hidden = Vec::new();
        for (step, files) in self.steps.iter().zip(files) {
            let result = match (&step.shown, files) {
                (Shown::Nothing, _) => hide(&step.path, &empty).map(|mount| hidden.extend(mount)),
                (Shown::Files { .. }, None) => Ok(()),
                (Shown::Files { .. }, Some(files)) => files.put_at_new(&step.path),
                (Shown::Processes, _) => put(&PROCESSES, step).map(|mount| new.push(mount)),
                (Shown::Memory, _) => put(&MEMORY, step).map(|mount| new.push(mount)),
                (Shown::Terminals, _) => put(&TERMINALS, step).map(|mount| new.push(mount)),
            };
            result.map_err(failed(|| format!("mount at {}", step.path.display())))?;
        }
        for mount in hidden {
            let done = mount.read_only_itself();
            done.map_err(failed(|| "make a hidden path read-only".into()))?;
        }
        if self.network != Way::Open {
            loopback::up().map_err(failed(|| "take the loopback interface up".into()))?;
        }
        let listener = match self.network {
            Way::Proxy => {
                let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
                Some(bound.map_err(failed(|| "listen at the loopback interface".into()))?)
            }
            Way::Open | Way::None => None,
        };
        std::env::set_current_dir("/").map_err(failed(|| "go to /".into()))?;
        Ok(Entered { new, listener })
    }

    /// Returns the mount of each step that shows files.
    fn files(&self) -> Result<Vec<Option<Mount>>, EnterError> {
        let taken = self.steps.iter().map(|step| {
            let Shown::Files { of, writable } = &step.shown else {
                return Ok(None);
            };
            let mount = Mount::of(of)?;
            if let Some(mount) = mount.as_ref().filter(|_| !writable) {
                mount.read_only()?;
            }
            Ok(mount)
        });
        let taken: io::Result<_> = taken.collect();
        taken.map_err(failed(|| "take the mounts of what is shown".into()))
    }
}

/// Makes a file system at the path of a step.
fn put(new: &New<'_>, step: &Step) -> io::Result<(PathBuf, OwnedFd)> {
    let mount = Mount::new(new)?;
    mount.put_at_new(&step.path)?;
    Ok((step.path.clone(), mount.into_descriptor()))
}

/// Puts an empty directory or file at a path, if there is something to hide. A directory has still to be made read-only: something
/// below it may be shown, whose place is made in it.
fn hide(path: &Path, empty: &OwnedFd) -> io::Result<Option<Mount>> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(None);
    };
    let mount = match metadata.is_dir() {
        true => Mount::new(&EMPTY)?,
        false => Mount::of_open(empty)?,
    };
    Ok(mount.put_at(path)?.then_some(mount))
}

/// Makes an empty file that only root can open, in a file system that no path leads to any more once `/proc` is mounted.
fn empty_file() -> io::Result<OwnedFd> {
    Mount::new(&EMPTY)?.put_at(Path::new("/proc"))?;
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o0)
        .open("/proc/empty")?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat(CWD, c"/proc/empty", flags, Mode::empty())?)
}

fn failed<E: Into<io::Error>>(what: impl FnOnce() -> String) -> impl FnOnce(E) -> EnterError {
    |error| EnterError {
        what: what(),
        error: error.into(),
    }
}
