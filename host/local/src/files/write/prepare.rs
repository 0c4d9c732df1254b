//! The steps of a write that can be done before any file changes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata as Found, MetadataExt, OpenOptions};
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;

use super::temporary::Temporary;
use super::turns::Turn;
use crate::files::metadata;
use crate::files::resolved_path::ResolvedPath;
use crate::files::{Error, Files, Kind, MAX_READ, Metadata, open, version};
use crate::files::{Precondition, Write};

/// The mode of a directory that was missing, of which the umask takes its part.
const DIRECTORY_MODE: u32 = 0o755;

/// How many directories may be missing above one file, and above all files of one write.
const MAX_MISSING: usize = 64;
const MAX_MADE: usize = 256;

/// A file that is complete and has only to be renamed. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    #[expect(dead_code, reason = "kept for its drop")]
    pub(super) turn: Option<Turn<'a>>,
    pub(super) temporary: Temporary,
    pub(super) place: Place,
    pub(super) when: Precondition,
    /// The version of the new file; `None` if it is too large to have been hashed.
    pub(super) version: Option<String>,
    pub(super) new: Found,
}

/// A file whose mode and owner another one gets: its directory, its name, and its facts.
pub(super) type Like<'a> = (&'a Dir, &'a OsStr, &'a Found);

/// A name in an open directory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) directory: Arc<Dir>,
    pub(super) name: OsString,
    pub(super) path: PathBuf,
}

impl Place {
    /// Returns whether both are the same name in the same directory.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // One directory has one descriptor, whatever it is called.
        Arc::ptr_eq(&self.directory, &other.directory) && self.name == other.name
    }
}

/// The directories of several writes, each open once. Dropping this removes the directories that the write made, unless they
/// are kept or contain other files by now.
#[derive(Debug, Default)]
pub(super) struct Directories {
    /// By device and inode.
    open: BTreeMap<(u64, u64), Arc<Dir>>,
    /// The directories that were made, each with its parent.
    made: Vec<(Arc<Dir>, OsString)>,
    pub(super) kept: bool,
}

impl Directories {
    /// Returns the one descriptor of a directory.
    pub(super) fn share(&mut self, directory: Dir) -> Result<Arc<Dir>, Error> {
        let found = directory.dir_metadata()?;
        let shared = self.open.entry((found.dev(), found.ino()));
        Ok(Arc::clone(shared.or_insert_with(|| Arc::new(directory))))
    }

    /// Makes directories, each in the one before, and returns the last.
    fn make(&mut self, parent: Dir, names: Vec<OsString>) -> Result<Arc<Dir>, Error> {
        if names.len() > MAX_MISSING || self.made.len() + names.len() > MAX_MADE {
            let text = format!(
                "more than {MAX_MISSING} directories are missing above a file, or {MAX_MADE} in all"
            );
            return Err(Error::Invalid(text));
        }
        let mut directory = self.share(parent)?;
        let mut builder = DirBuilder::new();
        builder.mode(DIRECTORY_MODE);
        for name in names {
            match directory.create_dir_with(&name, &builder) {
                Ok(()) => self.made.push((Arc::clone(&directory), name.clone())),
                // Another process made it meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
            directory = self.share(open::directory(&directory, &name)?)?;
        }
        Ok(directory)
    }

    /// Returns all of them, in one order for all hosts.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Dir> {
        self.open.values().map(|directory| &**directory)
    }

    /// Syncs the directories, so that the new names survive a power failure.
    pub(super) fn sync(&self) {
        for directory in self.iter() {
            let opened = directory.open_with(".", OpenOptions::new().read(true));
            match opened.and_then(|directory| directory.sync_all()) {
                Ok(()) => {}
                // Not every file system can.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {}
                Err(error) => {
                    tracing::warn!(%error, "a directory was written to, and cannot be synced");
                }
            }
        }
    }
}

impl Drop for Directories {
    fn drop(&mut self) {
        while let Some((parent, name)) = self.made.pop().filter(|_| !self.kept) {
            if let Err(error) = parent.remove_dir(&name) {
                tracing::debug!(%error, "a directory that was made for a write stays");
            }
        }
    }
}

/// The place of a file to write.
pub(super) struct Target {
    pub(super) place: Place,
    /// The file that will be replaced.
    pub(super) old: Option<Found>,
}

/// Makes sure that a file may be replaced.
pub(super) fn check_old(directory: &Dir, name: &OsStr, old: &Found) -> Result<(), Error> {
    if metadata::kind(old.file_type()) != Kind::File {
        return Err(Error::NotAFile);
    }
    // Renaming asks only whether the directory may be written to. A file that is read-only is meant to stay.
    Ok(accessat(
        directory,
        name,
        Access::WRITE_OK,
        AtFlags::EACCESS,
    )?)
}

impl Files {
    /// Waits for the turn at a file.
    pub(in crate::files) fn turn(&self, directory: &Dir, name: &OsStr) -> Result<Turn<'_>, Error> {
        let found = directory.dir_metadata()?;
        let key = (found.dev(), found.ino(), name.to_os_string());
        Ok(self.turns.take(key))
    }

    /// Returns the place of a file to write, and makes the directories that are missing above it.
    pub(super) fn target(
        &self,
        path: &str,
        directories: &mut Directories,
    ) -> Result<Target, Error> {
        Ok(match self.walk(path)? {
            ResolvedPath::Directory { .. } => return Err(Error::NotAFile),
            ResolvedPath::Entry {
                parent,
                name,
                found,
                path,
            } => {
                check_old(&parent, &name, &found)?;
                let place = Place {
                    directory: directories.share(parent)?,
                    name,
                    path,
                };
                Target {
                    place,
                    old: Some(found),
                }
            }
            ResolvedPath::Missing {
                parent,
                mut missing,
                path,
            } => {
                let name = missing.pop().unwrap_or_default();
                let place = Place {
                    directory: directories.make(parent, missing)?,
                    name,
                    path,
                };
                Target { place, old: None }
            }
        })
    }

    /// Makes everything ready for a write. A single one waits for its turn at the file; several could wait for each other. A new file
    /// gets the mode and owner of the one that is moved there, if one is.
    pub(super) fn prepare(
        &self,
        write: Write,
        is_single: bool,
        moved: Option<Like<'_>>,
        directories: &mut Directories,
    ) -> Result<Prepared<'_>, Error> {
        let Target { place, old } = self.target(&write.path, directories)?;
        let turn = match is_single {
            true => Some(self.turn(&place.directory, &place.name)?),
            false => None,
        };
        check(&place.directory, &place.name, &write.when)?;
        let mut temporary =
            Temporary::new(&place.directory, &place.path, self.temporaries.as_ref());
        let like = match &old {
            Some(found) => Some((&*place.directory, place.name.as_os_str(), found)),
            None => moved,
        };
        let new = temporary.write(&write.data, like)?;
        let hashed = write.data.len() <= MAX_READ;
        Ok(Prepared {
            turn,
            temporary,
            place,
            when: write.when,
            version: hashed.then(|| version::of_content(&write.data)),
            new,
        })
    }
}

impl Prepared<'_> {
    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    /// Gives the file that will be replaced a second name, from which it can be restored; `None` if there is no such file.
    pub(super) fn back_up(&self) -> Result<Option<Temporary>, Error> {
        let Place {
            directory, path, ..
        } = &self.place;
        let mut backup = Temporary::new(directory, path, self.temporary.all.as_ref());
        match backup.link(&self.place.name) {
            Ok(()) => Ok(Some(backup)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_only_if_absent(&self) -> bool {
        self.when == Precondition::Absent
    }

    /// Checks the precondition once more.
    pub(super) fn check(&self) -> Result<(), Error> {
        check(&self.place.directory, &self.place.name, &self.when)
    }

    /// Returns whether the file of that name is the one that was prepared.
    pub(super) fn is_in_place(&self) -> bool {
        let found = self.place.directory.symlink_metadata(&self.place.name);
        found.is_ok_and(|found| (found.dev(), found.ino()) == (self.new.dev(), self.new.ino()))
    }

    pub(super) fn written(&self) -> Metadata {
        // Renaming has changed the times.
        let found = self.place.directory.symlink_metadata(&self.place.name);
        let found = found.unwrap_or_else(|_| self.new.clone());
        let version = self.version.clone();
        let version = version.unwrap_or_else(|| version::of_stat(&found));
        metadata::metadata(&found, version, self.place.path.clone())
    }
}

/// Checks a precondition of the file of this name.
pub(in crate::files) fn check(
    directory: &Dir,
    name: &OsStr,
    when: &Precondition,
) -> Result<(), Error> {
    match when {
        Precondition::Any => Ok(()),
        Precondition::Absent => match directory.symlink_metadata(name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Err(Error::Changed("file exists".into())),
        },
        Precondition::Version(expected) => check_version(directory, name, expected),
    }
}

/// Checks that a file has this version.
pub(super) fn check_version(directory: &Dir, name: &OsStr, expected: &str) -> Result<(), Error> {
    let changed = || Error::Changed("file changed since it was read".into());
    let file = match open::regular(directory, name) {
        Err(Error::NotFound | Error::NotAFile) => return Err(changed()),
        opened => opened?,
    };
    let (version, _) = version::of(&file)?;
    (version == expected).then_some(()).ok_or_else(changed)
}
