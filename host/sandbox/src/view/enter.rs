//! Entering a view, as the first process of new namespaces.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountAttrFlags, MountPropagationFlags, mount_change};

use super::mounts::{FileSystem, Mount};
use super::{NetworkAccess, Shown, Step, View, loopback};
use crate::reach::is_out_of_reach;
use crate::sys;

/// The new file systems and the socket of a view that a process has entered.
#[derive(Debug)]
pub struct Entered {
    /// The roots of the new file systems, each with its path. The host needs them for the Landlock ruleset, because it cannot open them by
    /// their paths.
    pub new: Vec<(PathBuf, OwnedFd)>,
    /// The socket of the proxy, if the network is a list of hosts. It listens at 127.0.0.1 in these namespaces.
    pub listener: Option<TcpListener>,
}

impl Entered {
    /// Returns all descriptors, in the order that [`View::entered`] expects.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let roots = self.new.iter().map(|(_, root)| root.as_fd());
        roots.chain(self.listener.iter().map(AsFd::as_fd))
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

/// The file system that is mounted over a hidden directory.
const EMPTY: FileSystem<'static> = FileSystem {
    kind: c"tmpfs",
    options: &[(c"mode", c"0755"), (c"size", c"1m")],
    attributes: MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV),
};

impl View {
    /// Sets up this view in the namespaces of this process. The process must be the first one in the namespaces of
    /// [`View::namespaces`], and the users of its user namespace must be mapped. Afterwards, its working directory is `/`.
    ///
    /// A path that does not exist, or contains a link now, is left out.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a step.
    pub fn enter(&self) -> Result<Entered, EnterError> {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).map_err(failed(|| "make mounts private".into()))?;
        // Make these mounts before `/` becomes read-only, because a bind mount made later would be read-only too.
        let files = self.files()?;
        sys::set_read_only(CWD, c"/", true).map_err(failed(|| "make / read-only".into()))?;
        let empty = empty_file().map_err(failed(|| "make an empty file".into()))?;
        let mut new = Vec::new();
        let mut hidden = Vec::new();
        for (step, files) in self.steps.iter().zip(files) {
            let result = match (&step.shown, files) {
                (Shown::Nothing, _) => hide(&step.path, &empty).map(|mount| hidden.extend(mount)),
                (Shown::Files { .. }, None) => Ok(()),
                (Shown::Files { .. }, Some(files)) => files.attach_or_create(&step.path),
                (Shown::Processes, _) => mount_new(&PROCESSES, step).map(|root| new.push(root)),
                (Shown::Memory, _) => mount_new(&MEMORY, step).map(|root| new.push(root)),
                (Shown::Terminals, _) => mount_new(&TERMINALS, step).map(|root| new.push(root)),
            };
            result.map_err(failed(|| format!("mount at {}", step.path.display())))?;
        }
        for mount in hidden {
            let done = mount.make_itself_read_only();
            done.map_err(failed(|| "make a hidden path read-only".into()))?;
        }
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
        std::env::set_current_dir("/").map_err(failed(|| "change to the directory /".into()))?;
        Ok(Entered { new, listener })
    }

    /// Makes the mount of each step that shows files; `None` for the other steps.
    fn files(&self) -> Result<Vec<Option<Mount>>, EnterError> {
        let taken = self.steps.iter().map(|step| {
            let Shown::Files { of, writable } = &step.shown else {
                return Ok(None);
            };
            let mount = Mount::of(of)?;
            if let Some(mount) = mount.as_ref().filter(|_| !writable) {
                mount.make_read_only()?;
            }
            Ok(mount)
        });
        let taken: io::Result<_> = taken.collect();
        taken.map_err(failed(|| "bind the paths that the view shows".into()))
    }
}

/// Mounts a new file system at the path of a step. Returns the path and the root.
fn mount_new(system: &FileSystem<'_>, step: &Step) -> io::Result<(PathBuf, OwnedFd)> {
    let mount = Mount::new(system)?;
    mount.attach_or_create(&step.path)?;
    Ok((step.path.clone(), mount.into_descriptor()))
}

/// Mounts an empty directory or file over a path; `None` if the path does not exist. The caller must make the mount read-only later:
/// until then, later steps can make mount points in an empty directory.
fn hide(path: &Path, empty: &OwnedFd) -> io::Result<Option<Mount>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_out_of_reach(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mount = match metadata.is_dir() {
        true => Mount::new(&EMPTY)?,
        false => Mount::of_open(empty)?,
    };
    Ok(mount.attach(path)?.then_some(mount))
}

/// Makes an empty file that only root can open. Its file system is mounted at `/proc`, and becomes unreachable when the new `/proc` is
/// mounted over it.
fn empty_file() -> io::Result<OwnedFd> {
    Mount::new(&EMPTY)?.attach(Path::new("/proc"))?;
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
