//! The file of a store for operators: checks, exports and backups. They only read, even while a host uses the file.

use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use toolhost_state::state_dir::StateDir;

use super::fault::Fault;
use super::{FILE, log_bytes, present, readers, schema, upkeep};
use crate::StoreError;

/// The file of a store, opened for reading.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    connection: Connection,
}

/// The version of the schema of a store, and that of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The version of the file.
    pub found: i64,
    /// The version to which this program upgrades it.
    pub known: i64,
}

impl StoreFile {
    /// Returns the version of the store of a state directory; `None` if there is no store. Nothing is changed.
    ///
    /// # Errors
    ///
    /// If the file is damaged, or another program wrote it. A version that this program does not know is no error.
    pub fn version(directory: &StateDir) -> Result<Option<SchemaVersion>, StoreError> {
        let known = i64::try_from(schema::STEPS.len()).unwrap_or(i64::MAX);
        match Self::open(directory) {
            Ok(None) => Ok(None),
            Ok(Some(_)) => Ok(Some(SchemaVersion {
                found: known,
                known,
            })),
            Err(StoreError::Older { version: found, .. }) => {
                Ok(Some(SchemaVersion { found, known }))
            }
            Err(StoreError::Newer { version: found, .. }) => {
                Ok(Some(SchemaVersion { found, known }))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the file of a state directory; `None` if there is none. Nothing is changed.
    ///
    /// # Errors
    ///
    /// As for [`Sqlite::open`](super::Sqlite::open).
    pub fn open(directory: &StateDir) -> Result<Option<Self>, StoreError> {
        let path = directory.path().join(FILE);
        let opening = || {
            if !present::is_there(directory, &path)? {
                return Ok(None);
            }
            let connection = readers::open(&path)?;
            schema::require_current(&connection)?;
            let path = path.clone();
            Ok(Some(Self { path, connection }))
        };
        opening().map_err(|fault: Fault| fault.into_store_error(&path, "open its file"))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes of the file and of its log.
    pub fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |file| file.len()) + log_bytes(&self.path)
    }

    /// Checks all records and returns the problems that it finds.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        match upkeep::check(&self.connection) {
            Err(fault) if fault.is_damage() => Ok(vec![fault.problem()]),
            checked => checked.map_err(|fault| fault.into_store_error(&self.path, "be checked")),
        }
    }

    /// Writes all records as lines of JSON.
    ///
    /// # Errors
    ///
    /// If the file is damaged, or the lines cannot be written.
    pub fn export(&self, sink: &mut dyn Write) -> Result<(), StoreError> {
        let exported = upkeep::export(&self.connection, sink);
        exported.map_err(|fault| fault.into_store_error(&self.path, "be exported"))
    }

    /// Writes a copy to a new file, which only the owner can read. The file gets its name when the copy is complete.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if [`StoreFile::check`] finds a problem. SQLite would rebuild the indexes of the copy, and the copy
    /// would not show which rows are missing.
    pub fn backup(&self, file: &Path) -> Result<(), StoreError> {
        if let Some(problem) = self.check()?.into_iter().next() {
            let path = self.path.clone();
            return Err(StoreError::Damaged { path, problem });
        }
        let copied = upkeep::backup(&self.connection, file);
        copied.map_err(|fault| fault.into_store_error(file, "be copied"))
    }
}
