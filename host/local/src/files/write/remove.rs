//! Removing a file in two steps: it first gets a temporary name, from which it can be put back.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata as Found};
use rustix::fs::{Access, AtFlags, RenameFlags, accessat, renameat_with};
use rustix::io::Errno;

use super::prepare::{Directories, Like, Place, check_version};
use super::temporary::Temporary;
use crate::files::resolved_path::ResolvedPath;
use crate::files::temporaries::Temporaries;
use crate::files::{Error, Files, Kind, Removal, metadata};

/// A file or link that is to be removed.
#[derive(Debug)]
pub(super) struct Removed<'a> {
    pub(super) place: Place,
    found: Found,
    /// The version that the file must have, and where it is: behind the link, if the path is one.
    version: Option<(String, Arc<Dir>, OsString)>,
    moved_to: Option<u32>,
    all: Option<&'a Arc<Temporaries>>,
    /// The file, once it has its temporary name. It is gone when this is dropped.
    taken: Option<Temporary>,
}

impl Files {
    /// Finds the file of a removal, and checks its version.
    pub(super) fn prepare_removal(
        &self,
        removal: Removal,
        directories: &mut Directories,
    ) -> Result<Removed<'_>, Error> {
        let (place, found) = match self.walk_to_name(&removal.path)? {
            ResolvedPath::Directory { .. } => return Err(Error::NotAFile),
            ResolvedPath::Missing { .. } => return Err(Error::NotFound),
            ResolvedPath::Entry {
                parent,
                name,
                found,
                path,
            } => {
                let directory = directories.share(parent)?;
                let place = Place {
                    directory,
                    name,
                    path,
                };
                (place, found)
            }
        };
        match metadata::kind(found.file_type()) {
            Kind::Symlink => {}
            // As in a write: a file that is read-only is meant to stay.
            Kind::File => accessat(
                &place.directory,
                &place.name,
                Access::WRITE_OK,
                AtFlags::EACCESS,
            )?,
            Kind::Directory | Kind::Other => return Err(Error::NotAFile),
        }
        let version = match removal.version {
            None => None,
            Some(version) => match self.walk(&removal.path)? {
                ResolvedPath::Entry { parent, name, .. } => {
                    Some((version, directories.share(parent)?, name))
                }
                ResolvedPath::Directory { .. } => return Err(Error::NotAFile),
                ResolvedPath::Missing { .. } => return Err(Error::NotFound),
            },
        };
        let removed = Removed {
            place,
            found,
            version,
            moved_to: removal.moved_to,
            all: self.temporaries.as_ref(),
            taken: None,
        };
        removed.check()?;
        Ok(removed)
    }
}

impl Removed<'_> {
    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    /// Returns whether the write with this index moves the file.
    pub(super) fn is_moved_to(&self, write: usize) -> bool {
        self.moved_to.is_some_and(|to| to as usize == write)
    }

    /// Returns the file, whose mode and owner it keeps where it is moved to; `None` for a link, which has neither.
    pub(super) fn file(&self) -> Option<Like<'_>> {
        let is_file = metadata::kind(self.found.file_type()) == Kind::File;
        is_file.then_some((&self.place.directory, &self.place.name, &self.found))
    }

    /// Checks once more that the file is there and has its version.
    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some((version, directory, name)) = &self.version {
            check_version(directory, name, version)?;
        }
        Ok(())
    }

    /// Gives the file its temporary name.
    pub(super) fn take(&mut self) -> Result<(), Error> {
        self.check()?;
        let Place {
            directory,
            name,
            path,
        } = &self.place;
        let mut taken = Temporary::new(directory, path, self.all);
        taken.take(name)?;
        self.taken = Some(taken);
        Ok(())
    }

    /// Gives the file its own name back, unless another file has it by now.
    pub(super) fn put_back(&mut self) -> std::io::Result<()> {
        let Some(taken) = self.taken.take() else {
            return Ok(());
        };
        let (directory, name) = (&*self.place.directory, &self.place.name);
        let from = taken.name.clone();
        // From here on, the file is not removed: it is the only one with its content.
        let put_back =
            match renameat_with(directory, &from, directory, name, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(()),
                // The file system cannot rename without replacing.
                Err(Errno::INVAL | Errno::NOSYS) if directory.symlink_metadata(name).is_err() => {
                    directory.rename(&from, directory, name)
                }
                Err(errno) => Err(errno.into()),
            };
        taken.keep();
        put_back.map_err(|error: std::io::Error| {
            let text = format!("{error}; it is named {} now", from.display());
            std::io::Error::new(error.kind(), text)
        })
    }
}
