//! Configuration files of clients: read as a whole, and replaced or removed only if nothing else has changed them.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::{Gid, Uid, fchown};
use tempfile::NamedTempFile;

/// The most bytes of a configuration.
const MOST: u64 = 16 << 20;

/// A reason why a configuration file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// The system refuses to read it.
    #[error("cannot read {path}: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// It is not text.
    #[error("{path} is not text in UTF-8: correct it first", path = path.display())]
    NoText { path: PathBuf },
    /// It is no file, or a large one.
    #[error("{path} is no file of at most 16 MiB", path = path.display())]
    NoFile { path: PathBuf },
    /// It is reached through a symbolic link out of the project.
    #[error("{path} leads to {target}, which is outside of the project: name that with --file", path = path.display(), target = target.display())]
    Outside { path: PathBuf, target: PathBuf },
    /// It is a symbolic link to a file that does not exist.
    #[error("{path} is a symbolic link that leads nowhere: make its target first", path = path.display())]
    Dangling { path: PathBuf },
    /// Another program has changed it.
    #[error("{path} has changed meanwhile: nothing was written; try again", path = path.display())]
    Changed { path: PathBuf },
    /// The system refuses to write it.
    #[error("cannot write {path}: {error}", path = path.display())]
    Unwritable { path: PathBuf, error: io::Error },
}

/// A configuration file, which need not exist.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// The file itself, behind all symbolic links.
    path: PathBuf,
    is_link: bool,
    found: Option<Content>,
}

/// The content of a file that exists.
#[derive(Debug)]
struct Content {
    text: String,
    metadata: Metadata,
}

impl ConfigFile {
    /// Reads a file, which must be in the directory `within`, if there is one: a command can have made links there.
    pub(super) fn read(named: &Path, within: Option<&Path>) -> Result<Self, FileError> {
        let link = named.symlink_metadata().ok();
        let is_link = link.is_some_and(|found| found.is_symlink());
        let unreadable = |error| FileError::Unreadable {
            path: named.to_owned(),
            error,
        };
        let path = match named.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_link => {
                let path = named.to_owned();
                return Err(FileError::Dangling { path });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => named.to_owned(),
            path => path.map_err(unreadable)?,
        };
        if let Some(project) = within {
            // The directories of a new file are made.
            let mut there = path.ancestors().filter_map(|path| path.canonicalize().ok());
            let there = there.next().unwrap_or_default();
            if !there.starts_with(project.canonicalize().map_err(unreadable)?) {
                return Err(FileError::Outside {
                    path: named.to_owned(),
                    target: there,
                });
            }
        }
        let found = content(&path)?;
        Ok(Self {
            path,
            is_link,
            found,
        })
    }

    /// Returns the text; `None` if the file does not exist.
    pub(super) fn text(&self) -> Option<&str> {
        Some(&self.found.as_ref()?.text)
    }

    /// Returns whether a symbolic link leads to the file.
    pub(super) fn is_link(&self) -> bool {
        self.is_link
    }

    /// Replaces the text. The mode and the owner stay, and a new file is for its owner alone.
    pub(super) fn replace(&self, text: &str) -> Result<(), FileError> {
        self.check()?;
        self.write(text).map_err(|error| self.unwritable(error))
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> Result<(), FileError> {
        self.check()?;
        std::fs::remove_file(&self.path).map_err(|error| self.unwritable(error))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        if self.found.is_none() {
            std::fs::create_dir_all(directory)?;
        }
        let mut file = NamedTempFile::with_prefix_in(".toolhost-", directory)?;
        file.write_all(text.as_bytes())?;
        if let Some(Content { metadata, .. }) = &self.found {
            let made = file.as_file().metadata()?;
            let owner = (metadata.uid(), metadata.gid());
            if (made.uid(), made.gid()) != owner {
                let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
                fchown(file.as_file(), Some(user), Some(group))?;
            }
            let mode = Permissions::from_mode(metadata.mode() & 0o7777);
            file.as_file().set_permissions(mode)?;
        }
        file.as_file().sync_all()?;
        match &self.found {
            Some(_) => file.persist(&self.path),
            None => file.persist_noclobber(&self.path),
        }?;
        Ok(())
    }

    /// Fails if another program has changed the file since it was read.
    fn check(&self) -> Result<(), FileError> {
        let now = content(&self.path)?;
        let text = now.as_ref().map(|now| now.text.as_str());
        match text == self.text() {
            true => Ok(()),
            false => Err(FileError::Changed {
                path: self.path.clone(),
            }),
        }
    }

    fn unwritable(&self, error: io::Error) -> FileError {
        let path = self.path.clone();
        FileError::Unwritable { path, error }
    }
}

/// Returns the content of a file; `None` if it does not exist.
fn content(path: &Path) -> Result<Option<Content>, FileError> {
    let read = || {
        // A pipe does not hold this program up.
        let mut options = File::options();
        let file = options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
        let file = file.open(path)?;
        let metadata = file.metadata()?;
        let mut bytes = Vec::new();
        if metadata.is_file() {
            file.take(MOST + 1).read_to_end(&mut bytes)?;
        }
        Ok((bytes, metadata))
    };
    let (bytes, metadata) = match read() {
        Err(error) if is_missing(&error) => return Ok(None),
        read => read.map_err(|error: io::Error| FileError::Unreadable {
            path: path.to_owned(),
            error,
        })?,
    };
    let path = path.to_owned();
    if !metadata.is_file() || bytes.len() as u64 > MOST {
        return Err(FileError::NoFile { path });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Content { text, metadata })),
        Err(_) => Err(FileError::NoText { path }),
    }
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn mode_and_links_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dotfiles.json");
        let link = directory.path().join("settings.json");
        std::fs::write(&path, "{}").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("dotfiles.json", &link).unwrap();
        let file = ConfigFile::read(&link, None).unwrap();
        assert!(file.is_link());
        file.replace("{ }").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ }");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
        let names = std::fs::read_dir(directory.path()).unwrap();
        assert_eq!(names.count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_new_file_is_private_and_its_directories_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/settings.json");
        let file = ConfigFile::read(&path, None).unwrap();
        assert_eq!(file.text(), None);
        file.replace("{}").unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        ConfigFile::read(&path, None).unwrap().remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_another_program_wrote_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let missing = ConfigFile::read(&path, None).unwrap();
        std::fs::write(&path, "{}").unwrap();
        assert!(matches!(
            missing.replace("x"),
            Err(FileError::Changed { .. })
        ));
        let file = ConfigFile::read(&path, None).unwrap();
        std::fs::write(&path, "{ }").unwrap();
        assert!(matches!(file.replace("x"), Err(FileError::Changed { .. })));
        assert!(matches!(file.remove(), Err(FileError::Changed { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ }");
    }

    #[test]
    fn files_that_cannot_be_used_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(
            ConfigFile::read(&path, None),
            Err(FileError::NoText { .. })
        ));
        let link = directory.path().join("link");
        symlink("nowhere", &link).unwrap();
        let dangling = ConfigFile::read(&link, None);
        assert!(matches!(dangling, Err(FileError::Dangling { .. })));
        let below = ConfigFile::read(directory.path(), None);
        assert!(matches!(below, Err(FileError::NoFile { .. })));
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let endless = directory.path().join("endless");
        symlink("/dev/zero", &endless).unwrap();
        for path in [pipe, endless] {
            let read = ConfigFile::read(&path, None);
            assert!(matches!(read, Err(FileError::NoFile { .. })));
        }
    }

    #[test]
    fn links_of_a_project_stay_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        std::fs::create_dir_all(project.join("inside")).unwrap();
        std::fs::write(directory.path().join("settings.json"), "{}").unwrap();
        symlink("..", project.join(".cursor")).unwrap();
        symlink("inside", project.join(".vscode")).unwrap();
        for name in [".cursor/settings.json", ".cursor/new/mcp.json"] {
            let read = ConfigFile::read(&project.join(name), Some(&project));
            assert!(matches!(read, Err(FileError::Outside { .. })), "{name}");
        }
        for name in [".vscode/mcp.json", "new/mcp.json"] {
            ConfigFile::read(&project.join(name), Some(&project)).unwrap();
        }
    }
}
