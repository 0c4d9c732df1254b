//! Where the homes of workspaces are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The name of the directory for homes, within the state directory.
const HOMES: &str = "homes";

/// The name of the directory for the homes of workspaces that have names, within their root. No workspace has such a name.
const IN_ROOT: &str = "+homes";

/// The name of the directory for the views of a home, within the home.
const VIEWS: &str = "views";

/// The homes of workspaces.
#[derive(Debug)]
pub(super) struct Homes {
    /// The directory for the homes of workspaces without names; `None`: there is no state directory.
    directory: Option<PathBuf>,
    /// The root of workspaces with names. Their homes are there, so that a quota of a workspace can bind its home.
    root: OnceLock<PathBuf>,
}

impl Homes {
    /// Removes what an earlier host has left of views, except those of chats with these temporary directories.
    pub(super) fn new(state: Option<&Path>, kept: &[PathBuf]) -> Self {
        let directory = state.map(|state| state.join(HOMES));
        directory.iter().for_each(|homes| sweep(homes, kept));
        Self {
            directory,
            root: OnceLock::new(),
        }
    }

    /// Keeps the homes of workspaces in a root there, and removes what an earlier host has left of views.
    pub(super) fn keep_in(&self, root: &Path, kept: &[PathBuf]) {
        sweep(&in_root(root), kept);
        _ = self.root.set(root.to_path_buf());
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

/// Returns the directory for the views of a chat with this temporary directory. It is in the home, because the kernel moves files from there
/// into layers, which it can only within one mount and one quota.
pub(super) fn views(home: &Path, temporary: &Path) -> PathBuf {
    let name = temporary.file_name().unwrap_or_default();
    home.join(VIEWS).join(name)
}

/// Removes the views of chats that have ended.
fn sweep(homes: &Path, kept: &[PathBuf]) {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    for home in entries(homes) {
        for views in entries(&home.path().join(VIEWS)) {
            if !kept
                .iter()
                .any(|kept| kept.file_name() == Some(&views.file_name()))
            {
                super::remove(&views.path());
            }
        }
    }
}
