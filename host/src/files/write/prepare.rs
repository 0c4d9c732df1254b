//! Everything about a write that can be done before anything changes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata as Found, MetadataExt, OpenOptions};
use rustix::fs::{Access, AtFlags, accessat};

use super::temporary::Temporary;
use super::{Precondition, Write};
use crate::files::place::Place;
use crate::files::walk::open_directory;
use crate::files::{Error, Files, Kind, MAX_READ, Metadata, read, version};

/// The mode of a directory that was missing, of which the umask takes its part.
const DIRECTORY_MODE: u32 = 0o755;

/// A file that is complete and has only to be renamed. Dropping it removes it, and the directories that were made for it.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    // First, because a directory can only be removed when it is empty.
    pub(super) temporary: Temporary<'a>,
    pub(super) directory: Dir,
    pub(super) name: OsString,
    path: PathBuf,
    when: Precondition,
    /// Whether there was a file when the path was resolved.
    pub(super) replaces: bool,
    /// The version of what will be there; `None` if it is too large to have been hashed.
    version: Option<String>,
    new: Found,
    pub(super) made: Made,
}

/// Directories that were made, each with the one that it is in. They are removed when this is dropped, unless they are
/// kept, or somebody else has put something into them.
#[derive(Debug, Default)]
pub(super) struct Made {
    directories: Vec<(Dir, OsString)>,
    pub(super) kept: bool,
}

impl Drop for Made {
    fn drop(&mut self) {
        while let Some((parent, name)) = self.directories.pop().filter(|_| !self.kept) {
            if parent.remove_dir(&name).is_err() {
                break;
            }
        }
    }
}

impl Files {
    pub(super) fn prepare(&self, write: Write) -> Result<Prepared<'_>, Error> {
        let (directory, name, path, old, made) = match self.walk(&write.path)? {
            Place::Directory { .. } => return Err(Error::NotAFile),
            Place::Entry {
                parent,
                name,
                found,
                path,
            } => {
                if Kind::of(&found) != Kind::File {
                    return Err(Error::NotAFile);
                }
                // Renaming asks only whether the directory may be written to. A file that is read-only is meant to stay.
                accessat(&parent, &name, Access::WRITE_OK, AtFlags::EACCESS)?;
                (parent, name, path, Some(found), Made::default())
            }
            Place::Missing {
                parent,
                mut missing,
                path,
            } => {
                let name = missing.pop().unwrap_or_default();
                let (directory, made) = make(parent, missing)?;
                (directory, name, path, None, made)
            }
        };
        check(&directory, &name, &write.when)?;
        let mut temporary = Temporary::new(&directory, &path, self.journal.as_ref())?;
        let new = temporary.write(&write.data, old.as_ref())?;
        let hashed = write.data.len() <= MAX_READ;
        Ok(Prepared {
            temporary,
            directory,
            name,
            path,
            when: write.when,
            replaces: old.is_some(),
            version: hashed.then(|| version::of_content(&write.data)),
            new,
            made,
        })
    }
}

impl<'a> Prepared<'a> {
    pub(super) fn directory(&self) -> &Dir {
        &self.directory
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives what will be replaced another name, under which it is found if it has to come back.
    pub(super) fn back_up(&self) -> Result<Temporary<'a>, Error> {
        let mut backup = Temporary::new(&self.directory, &self.path, self.temporary.journal)?;
        backup.link(&self.name)?;
        Ok(backup)
    }

    /// Returns whether two are for one file.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.path == other.path
    }

    pub(super) fn is_only_if_absent(&self) -> bool {
        self.when == Precondition::Absent
    }

    /// Checks once more what must hold.
    pub(super) fn check(&self) -> Result<(), Error> {
        check(&self.directory, &self.name, &self.when)
    }

    /// Returns whether the file that has the name is the one that was prepared.
    pub(super) fn is_in_place(&self) -> bool {
        let found = self.directory.symlink_metadata(&self.name);
        found.is_ok_and(|found| (found.dev(), found.ino()) == (self.new.dev(), self.new.ino()))
    }

    pub(super) fn written(&self) -> Metadata {
        // Renaming has changed times.
        let found = self.directory.symlink_metadata(&self.name);
        let found = found.unwrap_or_else(|_| self.new.clone());
        let version = self.version.clone();
        let version = version.unwrap_or_else(|| version::of_stat(&found));
        Metadata::new(&found, version, self.path.clone())
    }

    /// Has the new name survive a loss of power, and those of the directories that were made.
    pub(super) fn sync_directories(&self) {
        let above = self.made.directories.iter().map(|(parent, _)| parent);
        for directory in above.chain([&self.directory]) {
            let opened = directory.open_with(".", OpenOptions::new().read(true));
            if let Err(error) = opened.and_then(|directory| directory.sync_all()) {
                // Not every file system can, and what was written is there either way.
                tracing::debug!(path = %self.path.display(), %error, "a directory cannot be synced");
            }
        }
    }
}

fn check(directory: &Dir, name: &OsStr, when: &Precondition) -> Result<(), Error> {
    match when {
        Precondition::Any => Ok(()),
        Precondition::Absent => match directory.symlink_metadata(name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Err(Error::Changed("file exists".into())),
        },
        Precondition::Version(expected) => {
            let changed = || Error::Changed("file changed since it was read".into());
            let file = match read::open(directory, name) {
                Err(Error::NotFound | Error::NotAFile) => return Err(changed()),
                opened => opened?,
            };
            let (version, _) = version::of(&file)?;
            (version == *expected).then_some(()).ok_or_else(changed)
        }
    }
}

/// Makes directories, one in the other. Returns the last, and what was made.
fn make(parent: Dir, names: Vec<OsString>) -> Result<(Dir, Made), Error> {
    let mut made = Made::default();
    let mut directory = parent;
    let mut builder = DirBuilder::new();
    builder.mode(DIRECTORY_MODE);
    for name in names {
        match directory.create_dir_with(&name, &builder) {
            Ok(()) => made
                .directories
                .push((directory.try_clone()?, name.clone())),
            // Somebody else was faster.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        directory = open_directory(&directory, &name)?;
    }
    Ok((directory, made))
}
