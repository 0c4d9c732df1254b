//! Quotas of directories, as limits of projects of the file system.
//!
//! A directory with a quota is a project of its own: the id of the project is on the directory and on everything below it, and the file
//! system has the limits. Nothing else stores them, so a new host finds both. An id is free if the file system has no file and no limit of it.

mod sys;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use toolhost_workspace::{ProviderError, Quota};

/// The first id of a project. Operators and other programs count from 1.
const FIRST: u32 = 1 << 30;

/// The obstacle for a directory without a project.
const MADE_BEFORE: &str =
    "the workspace was made when this host could not set quotas: remove it and make it again";

/// Sets the quotas of the directories in one root.
#[derive(Debug)]
pub(super) struct Quotas {
    root: PathBuf,
    /// Whether a filter of system calls keeps commands from changing the project of a file, which its owner may.
    is_filtered: bool,
    /// The ids that may be free. An id that becomes free is found again by the next host.
    ids: Mutex<Range<u32>>,
}

impl Quotas {
    pub(super) fn new(root: &Path, is_filtered: bool) -> Self {
        Self {
            root: root.to_path_buf(),
            is_filtered,
            ids: Mutex::new(FIRST..u32::MAX),
        }
    }

    /// Refuses a quota that is required and cannot be enforced.
    pub(super) fn check(&self, quota: &Quota) -> Result<(), ProviderError> {
        let checked = self.obstacle().and_then(|obstacle| gap(quota, obstacle));
        checked
            .map(drop)
            .map_err(|error| ProviderError::Invalid(error.to_string()))
    }

    /// Gives an empty directory, and the home of its workspace, a project with these limits. Makes the home. Returns why the limits are not
    /// enforced, as [`Quotas::enforce`] does.
    pub(super) fn assign(
        &self,
        directory: &Path,
        home: &Path,
        quota: &Quota,
    ) -> io::Result<Option<String>> {
        if self.obstacle()?.is_none() {
            let opened = File::open(directory)?;
            // Locked until the id counts a file: the directory.
            let mut ids = self.ids.lock();
            let id = loop {
                let id = ids.next();
                let id = id.ok_or_else(|| io::Error::other("no id of a project is free"))?;
                if !sys::is_used(&opened, id)? {
                    break id;
                }
            };
            sys::set_project(&opened, id)?;
            DirBuilder::new().recursive(true).mode(0o700).create(home)?;
            sys::set_project(&File::open(home)?, id)?;
        }
        self.enforce(directory, quota)
    }

    /// Sets the limits of a directory. Returns why they are not enforced; `None` if they are.
    ///
    /// # Errors
    ///
    /// If the system fails, or if the quota is required and not enforced.
    pub(super) fn enforce(&self, directory: &Path, quota: &Quota) -> io::Result<Option<String>> {
        let mut obstacle = self.obstacle()?;
        if obstacle.is_none() {
            match own_project(directory)? {
                Some((opened, id)) => sys::set_limits(&opened, id, quota)?,
                None => obstacle = Some(MADE_BEFORE.to_owned()),
            }
        }
        gap(quota, obstacle)
    }

    /// Returns why the limits of new directories would not be enforced; `None` if they would be.
    fn obstacle(&self) -> io::Result<Option<String>> {
        let (root, path) = (File::open(&self.root)?, self.root.display());
        let permitted = sys::is_enforced(&root).and_then(|is_enforced| {
            // Any request shows whether this host may make it.
            sys::is_used(&root, FIRST)?;
            Ok(is_enforced)
        });
        Ok(Some(match permitted {
            _ if !self.is_filtered => "no filter of system calls keeps commands from taking their files out of a quota: turn the sandbox on, on a kernel with seccomp".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "this host may not set project quotas: give it CAP_SYS_ADMIN".to_owned()
            }
            Ok(false) | Err(_) => format!(
                "the file system of {path} enforces no project quotas: use ext4 with the features `quota` and `project`, or XFS, and mount it with the option prjquota"
            ),
            Ok(true) if sys::project(&root)?.is_inherited => format!(
                "{path} belongs to a project, so its directories cannot have projects of their own: run `chattr -P {path}`"
            ),
            Ok(true) => return Ok(None),
        }))
    }
}

/// Removes the limits of a directory that is about to be removed. If they stayed, its id would never be free again.
pub(super) fn clear(directory: &Path) -> io::Result<()> {
    // A command can have taken away the rights of its user.
    crate::removal::open_up(directory)?;
    match own_project(directory)? {
        Some((opened, id)) => sys::set_limits(&opened, id, &Quota::default()),
        None => Ok(()),
    }
}

/// Returns the directory and the id of the project that was made for it. `None` if it has no project, or that of the root.
fn own_project(directory: &Path) -> io::Result<Option<(File, u32)>> {
    let (opened, root) = (File::open(directory)?, File::open(directory.join(".."))?);
    let (own, inherited) = (sys::project(&opened)?.id, sys::project(&root)?.id);
    Ok((own >= FIRST && own != inherited).then_some((opened, own)))
}

/// Returns the gap that an obstacle leaves, or an error if the quota is required.
fn gap(quota: &Quota, obstacle: Option<String>) -> io::Result<Option<String>> {
    let gap = obstacle.map(|obstacle| format!("the quota is not enforced: {obstacle}"));
    match gap {
        Some(gap) if quota.required => Err(io::Error::other(gap)),
        gap => Ok(gap),
    }
}
