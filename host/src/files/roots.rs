//! The directories that may be reached, and which of them an absolute path begins in.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};

use super::{Config, OpenError};

/// One directory, and what it is called.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) directory: Dir,
    /// Absolute and without links.
    pub(super) path: PathBuf,
    /// As the operator wrote it, made absolute: a model may have read that somewhere.
    alias: PathBuf,
}

/// All of them, the workspace first.
#[derive(Debug)]
pub(super) struct Roots {
    workspace: Root,
    further: Vec<Root>,
    /// Device and inode of the directories that may not be entered.
    hidden: Vec<(u64, u64)>,
}

impl Roots {
    pub(super) fn open(config: &Config) -> Result<Self, OpenError> {
        let further: Result<_, _> = config.roots.iter().map(|path| Root::open(path)).collect();
        let hidden = config.hidden.iter().filter_map(|path| {
            // One that is not there cannot be read either.
            let metadata = std::fs::metadata(path).ok()?;
            use std::os::unix::fs::MetadataExt as _;
            Some((metadata.dev(), metadata.ino()))
        });
        Ok(Self {
            workspace: Root::open(&config.workspace)?,
            further: further?,
            hidden: hidden.collect(),
        })
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.workspace.path
    }

    /// Returns the root in which relative paths begin.
    pub(super) fn first(&self) -> &Root {
        &self.workspace
    }

    /// Returns the root that an absolute path leads into, and the names that are left from there; `None` if none does.
    ///
    /// `..` is resolved by name, which is right above a root: there are no links in its path.
    pub(super) fn enter(&self, names: &mut Vec<OsString>) -> Option<&Root> {
        let mut above = PathBuf::from("/");
        loop {
            let all = std::iter::once(&self.workspace).chain(&self.further);
            let entered = |root: &&Root| root.path == above || root.alias == above;
            if let Some(root) = all.into_iter().find(entered) {
                return Some(root);
            }
            // The names are in reverse: the next one is the last.
            match names.pop()? {
                up if up == ".." => _ = above.pop(),
                name => above.push(name),
            }
        }
    }

    pub(super) fn is_hidden(&self, directory: &Dir) -> std::io::Result<bool> {
        if self.hidden.is_empty() {
            return Ok(false);
        }
        let metadata = directory.dir_metadata()?;
        Ok(self.hidden.contains(&(metadata.dev(), metadata.ino())))
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, OpenError> {
        let open = || {
            let alias = normal(&std::path::absolute(path)?);
            let real = path.canonicalize()?;
            let directory = Dir::open_ambient_dir(&real, ambient_authority())?;
            Ok(Self {
                directory,
                path: real,
                alias,
            })
        };
        open().map_err(|source| OpenError::Root {
            path: path.to_path_buf(),
            source,
        })
    }
}

/// Resolves `..` by name.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => _ = normal.pop(),
            other => normal.push(other),
        }
    }
    normal
}

/// Returns the names of a path in reverse, without those that say nothing, and whether it can only name a directory.
pub(super) fn names(path: &Path) -> (Vec<OsString>, bool) {
    let bytes = path.as_os_str().as_bytes();
    let parts = bytes.split(|&byte| byte == b'/');
    let names = parts
        .filter(|part| !part.is_empty() && *part != b".")
        .map(|part| std::ffi::OsStr::from_bytes(part).to_os_string());
    let mut names: Vec<_> = names.collect();
    names.reverse();
    let ends = |end: &[u8]| bytes.ends_with(end);
    (names, ends(b"/") || ends(b"/.") || ends(b"/.."))
}
