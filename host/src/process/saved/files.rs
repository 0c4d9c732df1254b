//! The files of saved outputs: making, opening and removing them, with names or without.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::Place;
use crate::state_dir::{StateDir, StateDirError};

/// The directory for outputs in the state directory.
const DIRECTORY: &str = "output";

/// The place of all files. Everything here blocks on the disk. No error has a path in it: models read them.
#[derive(Debug)]
pub(super) enum Files {
    /// Chat directories in this directory, with files in them.
    Named(StateDir),
    /// Files without names on the file system of this directory.
    Anonymous(PathBuf),
}

impl Files {
    /// Opens a place.
    ///
    /// # Errors
    ///
    /// If the state directory cannot hold a directory for outputs.
    pub(super) fn open(place: Place) -> io::Result<Self> {
        match place {
            // Who starts the store reads this error, and needs the path.
            Place::Directory(state) => state
                .subdirectory(DIRECTORY)
                .map(Self::Named)
                .map_err(io::Error::other),
            Place::Anonymous(directory) => Ok(Self::Anonymous(directory)),
        }
    }

    /// Returns whether files have names, and can be opened again.
    pub(super) fn have_names(&self) -> bool {
        matches!(self, Self::Named(_))
    }

    /// Makes an empty file, and the directory of its chat if it is not there.
    ///
    /// # Errors
    ///
    /// If the name is taken or the system refuses.
    pub(super) fn create(&self, chat: &str, name: &str) -> io::Result<File> {
        match self {
            Self::Named(output) => output
                .subdirectory(chat)
                .map_err(without_path)?
                .create_file(name),
            Self::Anonymous(directory) => {
                // It puts the path into its errors.
                let file = tempfile::tempfile_in(directory)
                    .map_err(|error| io::Error::from(error.kind()))?;
                file.set_permissions(Permissions::from_mode(0o600))?;
                Ok(file)
            }
        }
    }

    /// Opens a named file for reading; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it is a link or not a file that this user wrote, or the system refuses.
    pub(super) fn open_again(&self, chat: &str, name: &str) -> io::Result<Option<File>> {
        match self.directory(chat)? {
            Some(directory) => directory.open_file(name),
            None => Ok(None),
        }
    }

    /// Removes a named file. That there is none is no error.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(super) fn remove(&self, chat: &str, name: &str) -> io::Result<()> {
        match self.directory(chat)? {
            Some(directory) => directory.remove(name),
            None => Ok(()),
        }
    }

    /// Removes the directory of a chat with its files. That there is none is no error.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(super) fn remove_chat(&self, chat: &str) -> io::Result<()> {
        match self {
            Self::Named(output) => output.remove_subdirectory(chat),
            Self::Anonymous(_) => Ok(()),
        }
    }

    /// Returns the names of all directories of chats.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub(super) fn chats(&self) -> io::Result<Vec<String>> {
        let Self::Named(output) = self else {
            return Ok(Vec::new());
        };
        let names = output.names()?.into_iter().map(|(name, _)| name);
        Ok(names.filter(|name| is_name(name)).collect())
    }

    /// Checks a name that comes from a journal.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no name that a store makes, or files have no names here.
    pub(super) fn check_name(&self, name: &str) -> io::Result<()> {
        if self.have_names() && is_name(name) {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Opens the directory of a chat each time: a thousand chats hold no descriptors.
    fn directory(&self, chat: &str) -> io::Result<Option<StateDir>> {
        match self {
            Self::Named(output) => output.existing_subdirectory(chat).map_err(without_path),
            Self::Anonymous(_) => Ok(None),
        }
    }
}

/// Returns a name that nobody can guess.
pub(super) fn random_name() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Returns whether it looks as [`random_name`] made it: no separator, no dot.
fn is_name(name: &str) -> bool {
    name.len() == 32
        && name
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn without_path(error: StateDirError) -> io::Error {
    match error {
        StateDirError::Io { source, .. } => source,
        error => {
            tracing::warn!(%error, "the directory of a chat's outputs cannot be used");
            io::Error::other("the directory for outputs cannot be used")
        }
    }
}
