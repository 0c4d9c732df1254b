//! Where the homes of workspaces are.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

use crate::process::contain::Directories;

/// The name of the directory for homes, within the state directory.
const HOMES: &str = "homes";

/// The name of the directory for the homes of workspaces that have names, within their root. No workspace has such a name.
const IN_ROOT: &str = "+homes";

/// The name of the directory for the mounts over the layers of a home, within the home.
const WORK: &str = "mounts";

/// The mount namespace of this process, and the name of the link in that directory which tells that of the host.
const MOUNTS: &str = "/proc/self/ns/mnt";
const MADE_IN: &str = "namespace";

/// The homes of workspaces.
#[derive(Debug)]
pub(super) struct Homes {
    /// The directory for the homes of workspaces without names; `None`: there is no state directory.
    directory: Option<PathBuf>,
    /// The root of workspaces with names. Their homes are there, so that a quota of a workspace can bind its home.
    root: OnceLock<PathBuf>,
    taken: Mutex<Vec<Taken>>,
}

/// The mounts over the layers of a home that a command of an earlier host uses, and that chats of this host cannot share.
#[derive(Debug)]
struct Taken {
    /// The directory for what they need.
    work: PathBuf,
    /// Gone when the command has ended.
    by: Weak<Directories>,
}

impl Homes {
    /// Removes what earlier hosts have left of mounts, except what commands with these directories use.
    pub(super) fn new(state: Option<&Path>, kept: &[Arc<Directories>]) -> Self {
        let directory = state.map(|state| state.join(HOMES));
        let taken = kept.iter().filter_map(|kept| {
            let work = kept.layers.clone()?;
            let by = Arc::downgrade(kept);
            Some(Taken { work, by })
        });
        let taken: Vec<_> = taken.collect();
        directory.iter().for_each(|homes| sweep(homes, &taken));
        Self {
            taken: Mutex::new(taken),
            directory,
            root: OnceLock::new(),
        }
    }

    /// Keeps the homes of workspaces in a root there, and removes what earlier hosts have left of mounts.
    pub(super) fn keep_in(&self, root: &Path) {
        sweep(&in_root(root), &self.taken.lock());
        _ = self.root.set(root.to_path_buf());
    }

    /// Returns whether commands of an earlier host may write into the layers of a home. Removes what those needed that have ended.
    pub(super) fn are_taken(&self, home: &Path) -> bool {
        let mut taken = self.taken.lock();
        let over = taken.extract_if(.., |taken| taken.by.strong_count() == 0);
        for Taken { work, .. } in over.collect::<Vec<_>>() {
            if !taken.iter().any(|taken| taken.work == work) {
                super::remove(&work);
            }
        }
        taken.iter().any(|taken| taken.work.starts_with(home))
    }

    /// Returns the directory for the home of a workspace. Without a state directory, it is among the temporary files of this host.
    pub(super) fn of<'a>(
        &self,
        workspace: &Path,
        temporary: impl FnOnce() -> Option<&'a Path>,
    ) -> Option<PathBuf> {
        if let Some(root) = self.root.get()
            && let Ok(name) = workspace.strip_prefix(root)
        {
            return Some(in_root(root).join(name));
        }
        let in_temporary = || Some(temporary()?.join(HOMES));
        let homes = self.directory.clone().or_else(in_temporary)?;
        Some(homes.join(toolhost_sandbox::name_for(workspace)))
    }
}

/// Returns the directory for the homes of the workspaces in a root. The home of a workspace has its name.
pub(crate) fn in_root(root: &Path) -> PathBuf {
    root.join(IN_ROOT)
}

/// Makes a directory for what the mounts over the layers of a home need, and locks it. It is in the home, because the kernel moves files from
/// there into layers, which it can only within one mount and one quota.
pub(super) fn make_work(home: &Path) -> io::Result<(PathBuf, File)> {
    let parent = home.join(WORK);
    super::private().recursive(true).create(&parent)?;
    let work = super::make_directory(&parent)?;
    let lock = File::open(&work)?;
    lock.lock()?;
    symlink(fs::read_link(MOUNTS)?, work.join(MADE_IN))?;
    Ok((work, lock))
}

/// Returns the home of the mounts that an earlier host made in a directory, and the lock on the directory. `None` if chats of this host
/// cannot share them: it sees other files than that host, or another host has the lock.
pub(super) fn home_of(work: &Path) -> Option<(PathBuf, File)> {
    let made_in = fs::read_link(work.join(MADE_IN)).ok()?;
    let lock = File::open(work).ok()?;
    let is_same = fs::read_link(MOUNTS).is_ok_and(|own| own == made_in);
    let home = work.parent()?.parent()?.to_path_buf();
    (is_same && lock.try_lock().is_ok()).then_some((home, lock))
}

/// Removes what the mounts of earlier hosts needed, except what commands of them use. Another host that has the same root holds the locks on
/// its own.
fn sweep(homes: &Path, taken: &[Taken]) {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let works = entries(homes).flat_map(|home| entries(&home.path().join(WORK)));
    for work in works.map(|work| work.path()) {
        let lock = File::open(&work).map_err(TryLockError::Error);
        let locked = lock.and_then(|lock| lock.try_lock());
        let is_used = matches!(locked, Err(TryLockError::WouldBlock));
        if !is_used && !taken.iter().any(|taken| taken.work == work) {
            super::remove(&work);
        }
    }
}
