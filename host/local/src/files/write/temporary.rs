//! A new file under a temporary name, before it gets its own.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::PermissionsExt;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions};

use super::access;
use crate::files::temporaries::{MARK, Temporaries};

/// The mode of a new file, of which the umask takes its part.
const NEW: u32 = 0o666;

/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;

/// A temporary name in a directory. Dropping this removes the file of that name.
#[derive(Debug)]
pub(super) struct Temporary {
    directory: Arc<Dir>,
    pub(super) name: OsString,
    path: PathBuf,
    pub(super) all: Option<Arc<Temporaries>>,
    /// Whether the store names the file.
    is_stored: bool,
    /// Whether a file has the name.
    there: bool,
}

impl Temporary {
    /// Takes a name for a file that will replace this path, and stores it if the names of temporary files are kept.
    pub(super) fn new(directory: &Arc<Dir>, path: &Path, all: Option<&Arc<Temporaries>>) -> Self {
        let base = path.file_name().unwrap_or_default();
        let name = temporary_name(base);
        let directory = Arc::clone(directory);
        let path = path.with_file_name(&name);
        let is_stored = all.is_some_and(|all| all.add(&path));
        Self {
            directory,
            name,
            path,
            all: all.map(Arc::clone),
            is_stored,
            there: false,
        }
    }

    /// Makes the file with this content, and with the mode and owner of the file that it will replace, or that is moved there.
    pub(super) fn write(
        &mut self,
        data: &[u8],
        old: Option<(&Dir, &OsStr, &Metadata)>,
    ) -> io::Result<Metadata> {
        let mut file = self.create(old.map(|(_, _, old)| old))?;
        file.write_all(data)?;
        self.finish(&file, old)
    }

    /// Makes the file, empty, with the mode of the file that it will replace.
    pub(super) fn create(&mut self, old: Option<&Metadata>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // Meanwhile, only users that may read the old file may read the new one.
        let mode = old.map_or(NEW, |old| old.mode() & 0o777);
        options.read(true).write(true).create_new(true).mode(mode);
        let opened = self.directory.open_with(&self.name, &options)?;
        self.there = true;
        Ok(opened.into_std())
    }

    /// Gives the complete file the mode and owner of the file that it will replace, and syncs it.
    pub(super) fn finish(
        &self,
        file: &File,
        old: Option<(&Dir, &OsStr, &Metadata)>,
    ) -> io::Result<Metadata> {
        if let Some((directory, name, old)) = old {
            keep(file, old)?;
            access::keep(directory, name, file, old)?;
        }
        file.sync_all()?;
        Metadata::from_file(file)
    }

    /// Gives a file this name as a second one. If the file system has no hard links, makes a copy.
    pub(super) fn link(&mut self, from: &OsStr) -> io::Result<()> {
        let linked = self.directory.hard_link(from, &self.directory, &self.name);
        if let Err(error) = linked {
            if error.kind() == io::ErrorKind::NotFound {
                return Err(error);
            }
            self.there = true;
            self.directory.copy(from, &self.directory, &self.name)?;
        }
        self.there = true;
        Ok(())
    }

    /// Renames a file to this name.
    pub(super) fn take(&mut self, from: &OsStr) -> io::Result<()> {
        self.directory.rename(from, &self.directory, &self.name)?;
        self.there = true;
        Ok(())
    }

    /// Notes that the file was renamed.
    pub(super) fn mark_renamed(&mut self) {
        self.there = false;
    }

    /// Leaves the file where it is, under whatever name: no later start removes it either.
    pub(super) fn keep(mut self) {
        self.there = false;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.there
            && let Err(error) = self.directory.remove_file(&self.name)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "a temporary file cannot be removed");
            // The name stays in the store, for the next start.
            return;
        }
        if let Some(all) = self.all.as_ref().filter(|_| self.is_stored) {
            all.remove(std::mem::take(&mut self.path));
        }
    }
}

/// Gives a file the owner of another one where that is possible, and then its mode, which a change of owner can narrow.
///
/// Setuid and setgid are dropped, as when a file is written to, because the content has changed.
fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    let now = Metadata::from_file(file)?;
    if (now.uid(), now.gid()) != (old.uid(), old.gid())
        && std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid())).is_err()
    {
        // Without the owner, the group can often be kept.
        _ = std::os::unix::fs::fchown(file, None, Some(old.gid()));
    }
    let mode = old.mode() & 0o1777;
    file.set_permissions(Permissions::from_mode(mode).into_std(file)?)
}

/// Returns `.<base>.tmp.<16 hexadecimal digits>`, with as much of the base as there is room for.
fn temporary_name(base: &OsStr) -> OsString {
    let random = uuid::Uuid::new_v4().simple().to_string();
    let random = random.get(..16).unwrap_or_default();
    let base = base.to_string_lossy();
    let room = MAX_NAME - 1 - MARK.len() - 16;
    let base = base
        .get(..base.floor_char_boundary(room))
        .unwrap_or_default();
    format!(".{base}{MARK}{random}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_however_long_the_base() {
        for base in [
            "a",
            "x.rs",
            &"n".repeat(255),
            &"ä".repeat(127),
            &"日".repeat(85),
        ] {
            let name = temporary_name(OsStr::new(base));
            let name = name.to_str().unwrap();
            assert!(name.len() <= MAX_NAME, "{name}");
            let (start, random) = name.split_once(MARK).unwrap();
            assert!(base.starts_with(&start[1..]), "{name}");
            assert_eq!(random.len(), 16);
        }
        assert!(temporary_name(OsStr::new("a")) != temporary_name(OsStr::new("a")));
    }
}
