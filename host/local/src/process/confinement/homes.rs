//! Where the homes of workspaces are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::Mutex;

/// The name of the directory for homes, within the state directory.
const HOMES: &str = "homes";

/// The name of the directory for the homes of workspaces that have names, within their root. No workspace has such a name.
const IN_ROOT: &str = "+homes";

/// The name of the directory for the mounts over the layers of a home, within the home.
const WORK: &str = "mounts";

/// The name of the directory that names the chats which use such mounts, within the directory of these.
const USERS: &str = "users";

/// The homes of workspaces.
#[derive(Debug)]
pub(super) struct Homes {
    /// The directory for the homes of workspaces without names; `None`: there is no state directory.
    directory: Option<PathBuf>,
    /// The root of workspaces with names. Their homes are there, so that a quota of a workspace can bind its home.
    root: OnceLock<PathBuf>,
    /// Homes whose layers may be written by commands of an earlier host.
    taken: Mutex<Vec<PathBuf>>,
}

impl Homes {
    /// Removes what an earlier host has left of mounts, except those of chats with these temporary directories.
    pub(super) fn new(state: Option<&Path>, kept: &[PathBuf]) -> Self {
        let directory = state.map(|state| state.join(HOMES));
        let taken = directory.iter().flat_map(|homes| sweep(homes, kept));
        Self {
            taken: Mutex::new(taken.collect()),
            directory,
            root: OnceLock::new(),
        }
    }

    /// Keeps the homes of workspaces in a root there, and removes what an earlier host has left of mounts.
    pub(super) fn keep_in(&self, root: &Path, kept: &[PathBuf]) {
        self.taken.lock().extend(sweep(&in_root(root), kept));
        _ = self.root.set(root.to_path_buf());
    }

    /// Returns whether commands of an earlier host may write into the layers of a home.
    pub(super) fn are_taken(&self, home: &Path) -> bool {
        self.taken.lock().iter().any(|taken| taken == home)
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

/// Makes a directory for what the mounts over the layers of a home need. It is in the home, because the kernel moves files from there into
/// layers, which it can only within one mount and one quota.
pub(super) fn make_work(home: &Path) -> io::Result<PathBuf> {
    let parent = home.join(WORK);
    super::private().recursive(true).create(&parent)?;
    let work = super::make_directory(&parent)?;
    super::private().create(work.join(USERS))?;
    Ok(work)
}

/// Notes that a chat with this temporary directory uses these mounts.
pub(super) fn note_user(work: &Path, temporary: &Path) -> io::Result<()> {
    let name = temporary.file_name().unwrap_or_default();
    fs::File::create(work.join(USERS).join(name)).map(drop)
}

/// Removes what the mounts of an earlier host needed, unless a chat with one of these temporary directories uses them. Returns the homes where
/// some are in use.
fn sweep(homes: &Path, kept: &[PathBuf]) -> Vec<PathBuf> {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let is_kept = |work: &Path| {
        let mut names = kept.iter().filter_map(|kept| kept.file_name());
        names.any(|name| work.join(USERS).join(name).exists())
    };
    let mut taken = Vec::new();
    for home in entries(homes) {
        for work in entries(&home.path().join(WORK)) {
            match is_kept(&work.path()) {
                true => taken.push(home.path()),
                false => super::remove(&work.path()),
            }
        }
    }
    taken
}
