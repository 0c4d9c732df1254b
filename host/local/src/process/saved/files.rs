//! The files of saved outputs: making, opening and removing them.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;

use toolhost_state::state_dir::{StateDir, StateDirError};
use toolhost_store::Outputs;

/// The place of all files: a directory with one for each chat. Everything here blocks on the disk. No error contains a path,
/// as models read the errors.
#[derive(Debug)]
pub(super) struct Files {
    /// `None` where there is no place for temporary files: commands run, and nothing is saved.
    output: Option<Arc<StateDir>>,
    /// The directory around it, if it ends with the store.
    temporary: Mutex<Option<TempDir>>,
}

impl Files {
    /// Opens a place. That there is none for temporary outputs is logged, and no error.
    pub(super) fn open(place: &Outputs) -> Self {
        let (output, temporary) = match place {
            Outputs::Kept(directory) => (Some(Arc::clone(directory)), None),
            Outputs::Temporary(parent) => match temporary(parent) {
                Ok((output, directory)) => (Some(Arc::new(output)), Some(directory)),
                Err(error) => {
                    tracing::warn!(%error, "outputs are not saved, as there is no place for temporary files");
                    (None, None)
                }
            },
        };
        Self {
            output,
            temporary: Mutex::new(temporary),
        }
    }

    /// Removes everything, if the place is a temporary one. Nothing can be made or read there any more.
    pub(super) fn remove_temporary(&self) {
        let directory = self.temporary.lock().take();
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
        let Some(output) = &self.output else {
            return Err(io::Error::other("there is no place for temporary files"));
        };
        output
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

    /// Opens a file for writing; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As for [`Files::open_again`].
    pub(super) fn open_to_write(&self, chat: &str, name: &str) -> io::Result<Option<File>> {
        match self.directory(chat)? {
            Some(directory) if directory.inode(name)?.is_some() => {
                directory.update_file(name).map(Some)
            }
            _ => Ok(None),
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
        match &self.output {
            Some(output) => output.remove_subdirectory(chat),
            None => Ok(()),
        }
    }

    /// Returns the names of all directories of chats.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub(super) fn chats(&self) -> io::Result<Vec<String>> {
        let Some(output) = &self.output else {
            return Ok(Vec::new());
        };
        let names = output.entries()?.into_iter().map(|entry| entry.name);
        Ok(names.filter(|name| is_name(name)).collect())
    }

    /// Checks a name that comes from the store.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a store does not make such names.
    pub(super) fn check_name(name: &str) -> io::Result<()> {
        if is_name(name) {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Opens the directory of a chat each time: a thousand chats hold no descriptors.
    fn directory(&self, chat: &str) -> io::Result<Option<StateDir>> {
        match &self.output {
            Some(output) => output.existing_subdirectory(chat).map_err(without_path),
            None => Ok(None),
        }
    }
}

/// Makes a directory for outputs in another one. Only its user can read it. A host that is killed leaves it behind.
fn temporary(parent: &Path) -> io::Result<(StateDir, TempDir)> {
    let made = tempfile::Builder::new()
        .prefix("toolhost-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)?;
    let output = StateDir::open(made.path()).map_err(io::Error::other)?;
    Ok((output, made))
}

/// Returns a name that cannot be guessed.
pub(super) fn random_name() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Returns whether a name looks like one of [`random_name`]: no separator, no dot.
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
