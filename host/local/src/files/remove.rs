//! Removing files, links and directories.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use cap_std::fs::{Dir, Metadata};

use super::metadata::kind;
use super::resolved_path::ResolvedPath;
use super::roots::identity;
use super::write::{Locks, check};
use super::{Error, Files, Kind, Precondition, Work, open, version};

/// How deep a tree may be that is removed: each level holds a descriptor.
const MAX_DEPTH: usize = 256;

impl Files {
    /// Removes what a path names: a link itself, and not its target. With `recursive`, a directory is removed with all that is in it,
    /// through no link. Closed files in it stay, and so do the directories above them: then it fails at the end. Any other failure stops it.
    ///
    /// # Errors
    ///
    /// See [`Error`]. [`Error::NotEmpty`] if a directory is not removed because of what is in it.
    pub(crate) fn remove(
        &self,
        path_asked: &str,
        recursive: bool,
        when: &Precondition,
        work: &Work,
    ) -> Result<(), Error> {
        let (above, name, is_directory) = split(path_asked)?;
        let (parent, above) = match self.walk(above)? {
            ResolvedPath::Directory { directory, path } => (directory, path),
            ResolvedPath::Entry { .. } => return Err(Error::NotADirectory),
            ResolvedPath::Missing { .. } => return Err(Error::NotFound),
        };
        let path = above.join(name);
        self.roots
            .check_name(&path, identity(&parent.dir_metadata()?))?;
        let found = parent.symlink_metadata(name)?;
        let kind = kind(found.file_type());
        if is_directory && kind != Kind::Directory {
            return Err(Error::NotADirectory);
        }
        if kind == Kind::Directory {
            self.roots.check_directory(&path, &found)?;
            check_stat(&found, when)?;
            if recursive {
                self.empty(&open::directory(&parent, name)?, &path, MAX_DEPTH, work)?;
            }
            return Ok(parent.remove_dir(name)?);
        }
        self.roots.check_file(&found)?;
        let _turn = self.turn(&parent, name)?;
        // As for a write: other hosts do not replace the file between the check and its removal.
        let _locks = Locks::take(std::iter::once(&parent));
        let _one_at_a_time = self.replacing.lock();
        match (kind, when) {
            (Kind::File, _) => check(&parent, name, when)?,
            // The version of a link is that of its target.
            (Kind::Symlink, Precondition::Version(_)) => match self.walk(path_asked)? {
                ResolvedPath::Entry { parent, name, .. } => check(&parent, &name, when)?,
                _ => check_stat(&found, when)?,
            },
            _ => check_stat(&found, when)?,
        }
        Ok(parent.remove_file(name)?)
    }

    /// Removes all that is in a directory, but for what is closed.
    fn empty(&self, directory: &Dir, path: &Path, depth: usize, work: &Work) -> Result<(), Error> {
        if depth == 0 {
            let text = format!("directories are nested more than {MAX_DEPTH} deep");
            return Err(Error::Invalid(text));
        }
        // Another directory may have taken the name since it was checked.
        let found = directory.dir_metadata()?;
        self.roots.check_directory(path, &found)?;
        let here = identity(&found);
        let mut names: Vec<OsString> = Vec::new();
        for entry in directory.entries()? {
            names.push(entry?.file_name());
        }
        for name in names {
            work.check()?;
            let at = path.join(&name);
            if self.roots.check_name(&at, here).is_err() {
                continue;
            }
            match self.remove_one(directory, &name, &at, depth, work) {
                // It was removed meanwhile, or something closed is in it.
                Ok(()) | Err(Error::NotFound | Error::NotEmpty) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn remove_one(
        &self,
        directory: &Dir,
        name: &OsStr,
        path: &Path,
        depth: usize,
        work: &Work,
    ) -> Result<(), Error> {
        let found = directory.symlink_metadata(name)?;
        if kind(found.file_type()) != Kind::Directory {
            return match self.roots.check_file(&found) {
                Ok(()) => Ok(directory.remove_file(name)?),
                Err(_) => Ok(()),
            };
        }
        if self.roots.check_directory(path, &found).is_err() {
            return Ok(());
        }
        let below = open::directory(directory, name)?;
        self.empty(&below, path, depth - 1, work)?;
        Ok(directory.remove_dir(name)?)
    }
}

/// Checks a precondition of something whose content is no version.
fn check_stat(found: &Metadata, when: &Precondition) -> Result<(), Error> {
    match when {
        Precondition::Any => Ok(()),
        Precondition::Version(expected) if version::of_stat(found) == *expected => Ok(()),
        Precondition::Version(_) => Err(Error::Changed("file changed since it was read".into())),
        Precondition::Absent => Err(Error::Changed("file exists".into())),
    }
}

/// Returns the directory of a path, its last name, and whether it can only name a directory.
fn split(path: &str) -> Result<(&str, &OsStr, bool), Error> {
    let trimmed = path.trim_end_matches('/');
    let (above, name) = match trimmed.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => (".", trimmed),
    };
    if matches!(name, "" | "." | "..") || path.contains('\0') {
        let text = "a path to remove must end with the name of what is removed";
        return Err(Error::Invalid(text.into()));
    }
    Ok((above, OsStr::new(name), trimmed.len() < path.len()))
}
