//! Cgroups, version 2: the kernel keeps all processes of a command in one. This needs a cgroup delegated to this host.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, Pid, access, geteuid};
use parking_lot::Mutex;

/// The prefix of the names of cgroups of commands; the host's process id follows.
const PREFIX: &str = "toolhost-";

/// How many levels of nested cgroups that a command made are removed.
const MOST_DEEP: u8 = 32;

/// How often, and after how long, the host retries at its end to remove the cgroups that are left.
const MOST_TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A cgroup in which this host may make others.
#[derive(Debug)]
pub(super) struct Parent {
    path: PathBuf,
    left: Arc<Mutex<Vec<PathBuf>>>,
}

/// The cgroup of one command. Removed when it is dropped, or later if it is not empty by then.
#[derive(Debug)]
pub(super) struct Leaf {
    path: PathBuf,
    directory: OwnedFd,
    left: Arc<Mutex<Vec<PathBuf>>>,
}

impl Parent {
    /// Finds the cgroup of this process, if it may be used.
    ///
    /// # Errors
    ///
    /// The reason why not, as the end of a sentence.
    pub(super) fn find() -> Result<Self, String> {
        let text = |path| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let path = locate(
            &text("/proc/self/mountinfo")?,
            &text("/proc/self/cgroup")?,
            VERSION_2,
        )
        .ok_or("no cgroup of version 2 is mounted here")?;
        let shown = path.display();
        let writable = |path: &Path| access(path, AccessFlags::W_OK).is_ok();
        // To move a process, its mover must also be able to write to the parent of the cgroup that the process leaves.
        if !writable(&path) || !writable(&path.join("cgroup.procs")) {
            return Err(format!(
                "the cgroup {shown} is not delegated to this user: with systemd, set Delegate=yes in the unit"
            ));
        }
        if geteuid().is_root() && !is_root_of_view(&path) && !is_delegated(&path) {
            return Err(format!(
                "the cgroup {shown} is not marked as delegated: with systemd, set Delegate=yes in the unit"
            ));
        }
        let parent = Self {
            path,
            left: Arc::default(),
        };
        parent.remove_left();
        let probe = parent.leaf().map_err(|error| {
            format!(
                "no cgroup can be made in {}: {error}",
                parent.path.display()
            )
        })?;
        if !probe.path.join("cgroup.kill").exists() {
            return Err("the kernel has no cgroup.kill, which came with Linux 5.14".into());
        }
        Ok(parent)
    }

    /// Makes a cgroup for one command.
    pub(super) fn leaf(&self) -> io::Result<Leaf> {
        // The processes that kept earlier cgroups busy are dead by now.
        self.remove_dropped();
        // Over all parents of this process: they may be one directory.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let path = loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{number}", std::process::id());
            let path = self.path.join(name);
            match fs::create_dir(&path) {
                // Left by an earlier host that had the same number, and still in use.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => break made.map(|()| path)?,
            }
        };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        match open(&path, flags, Mode::empty()) {
            Ok(directory) => Ok(Leaf {
                path,
                directory,
                left: Arc::clone(&self.left),
            }),
            Err(errno) => {
                _ = fs::remove_dir(&path);
                Err(errno.into())
            }
        }
    }

    /// Tries again to remove the cgroups that were busy when they were dropped, and returns whether none is left.
    fn remove_dropped(&self) -> bool {
        let mut left = self.left.lock();
        left.retain(|path| is_busy(&remove(path, MOST_DEEP)));
        left.is_empty()
    }

    /// Takes over the cgroup of a command of an earlier host, given by its directory.
    pub(super) fn adopt(&self, directory: OwnedFd) -> io::Result<Leaf> {
        Leaf::adopted(directory, Arc::clone(&self.left))
    }

    /// Removes the cgroups that ended hosts left behind, but not those in use.
    fn remove_left(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name
                .to_str()
                .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
            let dead = |pid| {
                nix::sys::signal::kill(Pid::from_raw(pid), None) == Err(nix::errno::Errno::ESRCH)
            };
            if owner.is_some_and(dead) && !is_populated(&entry.path()) {
                _ = remove(&entry.path(), MOST_DEEP);
            }
        }
    }
}

impl Drop for Parent {
    /// Retries, because processes that were killed a moment ago may still be in their cgroup.
    fn drop(&mut self) {
        for _ in 0..MOST_TRIES {
            if self.remove_dropped() {
                break;
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }
}

impl Leaf {
    /// Takes over the cgroup of a command of an earlier host, given by its directory.
    pub(super) fn adopted(directory: OwnedFd, left: Arc<Mutex<Vec<PathBuf>>>) -> io::Result<Self> {
        let path = fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
        Ok(Self {
            path,
            directory,
            left,
        })
    }

    /// Leaves the cgroup to the next host.
    pub(super) fn leave(mut self) {
        self.path = PathBuf::new();
    }

    /// Kills all processes in the cgroup.
    pub(super) fn kill(&self) -> io::Result<()> {
        Killer::open(self.directory.as_fd())?.kill()
    }

    /// Returns whether the kernel killed a process in the cgroup for lack of memory. Needs the memory controller.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        events
            .lines()
            .filter_map(|line| line.strip_prefix("oom_kill "))
            .any(|count| count != "0")
    }
}

impl Leaf {
    /// Returns the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Leaf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        let is_left = self.path.as_os_str().is_empty();
        if !is_left && is_busy(&remove(&self.path, MOST_DEEP)) {
            let mut left = self.left.lock();
            left.push(std::mem::take(&mut self.path));
        }
    }
}

/// Removes a cgroup and the nested cgroups that a command made, down to a depth that no reasonable command reaches.
fn remove(path: &Path, depth: u8) -> io::Result<()> {
    let removed = fs::remove_dir(path);
    if depth == 0 || !is_busy(&removed) {
        return removed;
    }
    for entry in fs::read_dir(path)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            _ = remove(&entry.path(), depth - 1);
        }
    }
    fs::remove_dir(path)
}

/// Returns whether a process is in the cgroup or in one below it. It may be that of a kept command.
fn is_populated(path: &Path) -> bool {
    let events = fs::read_to_string(path.join("cgroup.events")).unwrap_or_default();
    events.lines().any(|line| line == "populated 1")
}

fn is_busy(removed: &io::Result<()>) -> bool {
    removed
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
}

/// Kills all processes in a cgroup. It is opened in advance, because later there may be no free descriptor.
#[derive(Debug)]
pub(super) struct Killer(OwnedFd);

impl Killer {
    /// Opens the `cgroup.kill` file of a cgroup, given by its directory.
    pub(super) fn open(cgroup: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        Ok(Self(openat(cgroup, "cgroup.kill", flags, Mode::empty())?))
    }

    /// Kills every process in the cgroup.
    pub(super) fn kill(&self) -> io::Result<()> {
        nix::unistd::write(&self.0, b"1")?;
        Ok(())
    }
}

/// The name that stands for the one hierarchy of version 2, which has no name.
const VERSION_2: &str = "";

/// The controller of version 1 that limits the number of processes.
const PIDS: &str = "pids";

/// Returns the directories of the cgroups that limit how many processes this host and its commands may have together.
pub(in crate::process) fn limiting_processes() -> Vec<PathBuf> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let (mounts, cgroups) = (text("/proc/self/mountinfo"), text("/proc/self/cgroup"));
    let own = [VERSION_2, PIDS].map(|hierarchy| locate(&mounts, &cgroups, hierarchy));
    let with_parents = own.iter().flatten().flat_map(|own| own.ancestors());
    let limiting = with_parents.filter(|directory| directory.join("pids.max").exists());
    limiting.map(Path::to_path_buf).collect()
}

/// Finds the directory of a process's cgroup from its mounts and its cgroups, in the hierarchy of version 2 or of a controller of version 1.
fn locate(mountinfo: &str, cgroups: &str, hierarchy: &str) -> Option<PathBuf> {
    let own = cgroups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_wanted = controllers.split(',').any(|name| name == hierarchy);
        is_wanted.then_some(path)
    })?;
    mountinfo.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut parts = filesystem.split(' ');
        let (kind, options) = (parts.next()?, parts.next_back()?);
        let is_wanted = match hierarchy {
            VERSION_2 => kind == "cgroup2",
            controller => kind == "cgroup" && options.split(',').any(|name| name == controller),
        };
        if !is_wanted {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // The mount may show only a part of the hierarchy.
        let below = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(point).join(below))
    })
}

/// Returns whether this is the topmost cgroup that this process can see, as in a container with its own cgroup namespace.
fn is_root_of_view(path: &Path) -> bool {
    path.parent()
        .is_none_or(|parent| !parent.join("cgroup.procs").exists())
}

/// Returns whether the manager of the hierarchy marked this cgroup as delegated.
fn is_delegated(path: &Path) -> bool {
    ["trusted.delegate", "user.delegate"].iter().any(|name| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(path, *name, &mut value[..]).is_ok_and(|_| value.starts_with(b"1"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 0:20 / /proc rw - proc proc rw\n\
        30 22 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw\n\
        31 22 0:27 /pod /sys/fs/cgroup/pids rw,nosuid shared:5 - cgroup cgroup rw,pids\n";

    #[test]
    fn finds_the_directory_of_a_cgroup() {
        let found = |cgroups| locate(MOUNTS, cgroups, VERSION_2);
        assert_eq!(
            found("1:cpu:/x\n0::/a/b\n"),
            Some("/sys/fs/cgroup/unified/a/b".into())
        );
        assert_eq!(found("0::/\n"), Some("/sys/fs/cgroup/unified/".into()));
        assert_eq!(found("1:cpu:/x\n"), None);
        let of_processes = locate(MOUNTS, "4:cpu:/x\n3:pids:/pod/a\n0::/\n", PIDS);
        assert_eq!(of_processes, Some("/sys/fs/cgroup/pids/a".into()));
        assert_eq!(
            locate("22 1 0:20 / /proc rw - proc proc rw", "0::/", VERSION_2),
            None
        );
        let part = "30 22 0:26 /a /mnt rw - cgroup2 cgroup2 rw";
        assert_eq!(locate(part, "0::/a/b", VERSION_2), Some("/mnt/b".into()));
        assert_eq!(locate(part, "0::/c", VERSION_2), None);
    }
}
