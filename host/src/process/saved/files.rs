//! The files of saved outputs: making, opening and removing them.

use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::Place;
use crate::state_dir::{StateDir, StateDirError};

/// The directory for outputs in the state directory.
const DIRECTORY: &str = "output";

/// The place of all files: a directory with one for each chat. Everything here blocks on the disk. No error has a path in it:
/// models read them.
#[derive(Debug)]
pub(super) struct Files {
    output: StateDir,
    /// The directory around it, if it ends with the store.
    temporary: Mutex<Option<TempDir>>,
}

impl Files {
    /// Opens a place.
    ///
    /// # Errors
    ///
    /// If the state directory cannot hold a directory for outputs, or no temporary one can be made.
    pub(super) fn open(place: Place) -> io::Result<Self> {
        // Who starts the store reads these errors, and needs the path.
        let (state, temporary) = match place {
            Place::Directory(state) => (state, None),
            Place::Temporary(parent) => {
                let directory = tempfile::Builder::new()
                    .prefix("toolhost-")
                    .tempdir_in(parent)?;
                let state = StateDir::open(directory.path()).map_err(io::Error::other)?;
                (state, Some(directory))
            }
        };
        let output = state.subdirectory(DIRECTORY).map_err(io::Error::other)?;
        Ok(Self {
            output,
            temporary: Mutex::new(temporary),
        })
    }

    /// Removes everything, if the place is a temporary one. Nothing can be made or read there any more.
    pub(super) fn remove_temporary(&self) {
        let directory = self
            .temporary
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Err(error)) = directory.map(TempDir::close) {
            tracing::warn!(%error, "temporary outputs could not be removed");
        }
    }

    /// Makes an empty file, and the directory of its chat if it is not there.
    ///
    /// # Errors
    ///
    /// If the name is taken or the system refuses.
    pub(super) fn create(&self, chat: &str, name: &str) -> io::Result<File> {
        self.output
            .subdirectory(chat)
            .map_err(without_path)?
            .create_file(name)
    }

    /// Opens a file for reading; `None` if there is none.
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

    /// Removes a file. That there is none is no error.
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
        self.output.remove_subdirectory(chat)
    }

    /// Returns the names of all directories of chats.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub(super) fn chats(&self) -> io::Result<Vec<String>> {
        let names = self.output.names()?.into_iter().map(|(name, _)| name);
        Ok(names.filter(|name| is_name(name)).collect())
    }

    /// Checks a name that comes from a journal.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no name that a store makes.
    pub(super) fn check_name(name: &str) -> io::Result<()> {
        if is_name(name) {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Opens the directory of a chat each time: a thousand chats hold no descriptors.
    fn directory(&self, chat: &str) -> io::Result<Option<StateDir>> {
        self.output
            .existing_subdirectory(chat)
            .map_err(without_path)
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
