//! Closed paths: keys, credentials and the files of the host itself, which neither tools nor commands may reach.
//!
//! A host makes one list at its start. The sandbox of commands, the file tools, the templates of workspaces and the directories of
//! plugins all use that list, so a path is closed to all of them or to none.

mod own;
#[cfg(test)]
mod tests;
mod way;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::real_paths::RealPaths;
use own::Own;
pub use way::leads_through;

/// The text for a tool that names a closed path. It has the words of the note that a command gets.
pub const REFUSAL: &str = "this path is closed to tools and commands (never)";

/// The device and the inode number of a file, which are the same for all its names.
pub type Identity = (u64, u64);

/// A list of closed paths. Everything below a closed path is closed as well. Cheap to clone.
///
/// The list knows the files that exist when it is made by their identities, and so recognises them under any name. It knows all
/// paths by name, so that a file which is made or replaced later is closed, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    list: Arc<List>,
    /// A workspace to which the directories around it are open.
    workspace: Option<Arc<Path>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct List {
    /// As they were given, and without links in the part that exists. In order, so that all paths below a path follow it.
    paths: Vec<PathBuf>,
    /// Those that exist and contain no links.
    real: Vec<PathBuf>,
    /// The files at these paths, and when they were made: a file that is removed gives its number to another one.
    files: HashMap<Identity, Option<SystemTime>>,
    /// The names of closed paths in each directory that exists.
    names: HashMap<Identity, Vec<OsString>>,
    /// The directories in which the host keeps its own files.
    own: Vec<Own>,
}

impl Closed {
    /// Makes a list of paths, which need not exist. Relative ones begin at the current directory.
    pub fn new(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self::looked_up(paths, &RealPaths::default())
    }

    /// Makes a list, as [`Closed::new`] does, with real paths that the caller needs as well.
    pub fn looked_up(
        paths: impl IntoIterator<Item = impl Into<PathBuf>>,
        real: &RealPaths,
    ) -> Self {
        Self::with(paths.into_iter().map(Into::into), Vec::new(), real)
    }

    fn with(paths: impl Iterator<Item = PathBuf>, own: Vec<Own>, real: &RealPaths) -> Self {
        let mut all: Vec<_> = paths
            .flat_map(|path| {
                // Only an empty path cannot be made absolute.
                let path = std::path::absolute(&path).unwrap_or(path);
                let real = real.of_existing_part(&path);
                [path, real]
            })
            .collect();
        all.sort();
        all.dedup();
        let mut list = List {
            own,
            ..List::default()
        };
        let mut directories = HashMap::new();
        for path in &all {
            if real.of(path).as_ref() == Some(path) {
                list.real.push(path.clone());
                let found = path.symlink_metadata().ok();
                let file = found.map(|found| (identity(&found), found.created().ok()));
                list.files.extend(file);
            }
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                let parent = directories
                    .entry(parent.to_path_buf())
                    .or_insert_with(|| identity_at(&real.of(parent)?));
                if let Some(parent) = parent {
                    list.names.entry(*parent).or_default().push(name.into());
                }
            }
        }
        list.paths = all;
        Self {
            list: Arc::new(list),
            workspace: None,
        }
    }

    /// Returns this list with further paths.
    #[must_use]
    pub fn and(&self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let new: Vec<_> = paths.into_iter().filter(|path| !self.has(path)).collect();
        match new.is_empty() {
            true => self.clone(),
            false => {
                let all = self.list.paths.iter().cloned().chain(new);
                Self::with(all, self.list.own.clone(), &RealPaths::default())
            }
        }
    }

    /// Returns this list with directories in which the host keeps its own files. Their files stay closed under other names that hard
    /// links give them.
    #[must_use]
    pub fn with_own(&self, directories: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut own = self.list.own.clone();
        let mut all = self.list.paths.clone();
        for path in directories {
            own.extend(
                Own::open(&path)
                    .ok()
                    .filter(|new| !self.list.own.contains(new)),
            );
            all.push(path);
        }
        Self::with(all.into_iter(), own, &RealPaths::default())
    }

    /// Returns this list for a workspace, to which the directories around it are open: the host keeps its workspaces in a directory that
    /// is closed to all others. The path has no link in it.
    #[must_use]
    pub fn around(&self, workspace: &Path) -> Self {
        Self {
            list: Arc::clone(&self.list),
            workspace: Some(workspace.into()),
        }
    }

    /// Returns the paths, as they were given and without links, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.list.paths.iter().map(PathBuf::as_path)
    }

    /// Returns the paths that exist and contain no links.
    pub fn that_exist(&self) -> impl Iterator<Item = &Path> {
        self.list.real.iter().map(PathBuf::as_path)
    }

    /// Returns whether the path itself is in the list.
    pub fn has(&self, path: &Path) -> bool {
        let is_open = || {
            let workspace = self.workspace.as_ref();
            workspace.is_some_and(|workspace| workspace.starts_with(path))
        };
        self.place(path).is_ok() && !is_open()
    }

    /// Returns whether the path is closed: it, or a directory above it, is in the list.
    pub fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.has(path))
    }

    /// Returns the paths of the list that are below a directory.
    pub fn below<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
        let place = self.place(directory);
        let next = place.map_or_else(|next| next, |own| own + 1);
        let rest = self.list.paths.get(next..).unwrap_or_default().iter();
        let rest = rest.map(PathBuf::as_path);
        rest.take_while(move |path| path.starts_with(directory))
    }

    /// Returns whether a file had a closed path when the list was made, whatever its name is now. `made` is the time at which the file
    /// was made, if the file system knows it.
    pub fn has_file(&self, file: Identity, made: Option<SystemTime>) -> bool {
        let known = self.list.files.get(&file);
        known.is_some_and(|known| known.is_none() || made.is_none() || *known == made)
    }

    /// Returns whether a path is in the list, or its last name is closed in this directory, however the path leads there. The file need
    /// not exist.
    pub fn has_name(&self, directory: Identity, path: &Path) -> bool {
        let names = self.list.names.get(&directory);
        let is_same = |name: &OsString| {
            // Some directories do not tell the cases apart.
            path.file_name()
                .is_some_and(|other| name.eq_ignore_ascii_case(other))
        };
        names.is_some_and(|names| names.iter().any(is_same)) || self.has(path)
    }

    /// Returns whether a hard link has given a file of the host this identity.
    ///
    /// # Errors
    ///
    /// If a directory of the host cannot be read.
    pub fn has_link_to(&self, file: Identity) -> io::Result<bool> {
        for own in &self.list.own {
            if own.holds(file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the closed path that a directory is, contains, or lies in, by name or by identity. A directory that tools get as a
    /// whole must have none.
    pub fn overlap(&self, directory: &Path) -> Option<&Path> {
        let real = RealPaths::default();
        let directory = real.of_existing_part(directory);
        let is_by_name = |path: &&Path| path.starts_with(&directory) || directory.starts_with(path);
        let is_same = |path: &&Path| contains(&directory, path) || contains(path, &directory);
        let by_name = self.paths().find(is_by_name);
        by_name.or_else(|| self.that_exist().find(is_same))
    }

    /// Returns the index of a path, or the index at which it would be.
    fn place(&self, path: &Path) -> Result<usize, usize> {
        self.list
            .paths
            .binary_search_by(|other| (**other).cmp(path))
    }
}

/// Returns whether a path is a directory or below it, under any name of the directory. The last names of the path may be missing.
pub fn contains(directory: &Path, path: &Path) -> bool {
    let Some(directory) = identity_at(directory) else {
        return false;
    };
    let path = RealPaths::default().of_existing_part(path);
    let mut above = path.ancestors();
    above.any(|above| identity_at(above) == Some(directory))
}

/// Returns the identity of a file.
pub fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// Returns the identity of the file at a path; `None` if there is none.
fn identity_at(path: &Path) -> Option<Identity> {
    path.metadata().ok().as_ref().map(identity)
}
