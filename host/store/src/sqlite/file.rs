//! The file of a store for operators: checks, exports and backups. They only read, even while a host uses the file.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use toolhost_state::state_dir::StateDir;

use super::fault::Fault;
use super::stage_file::Staged;
use super::witness::Witness;
use super::{FILE, at_rest, log_bytes, open, readers, schema, upkeep};
use crate::StoreError;

/// The file of a store, opened for reading.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    connection: Connection,
    /// How many calls the witness names that are missing from the file.
    lost: usize,
    /// The copy to read if a killed host left changes that the file lacks.
    _copy: Option<TempDir>,
}

impl StoreFile {
    /// Opens the file of a state directory; `None` if there is none. Nothing is changed. `is_at_rest` says that the caller holds the
    /// [`Lock`](toolhost_state::state_dir::Lock) of the directory. Only then can the file be compared with its witness.
    ///
    /// # Errors
    ///
    /// As for [`Sqlite::open`](super::Sqlite::open).
    pub fn open(directory: &StateDir, is_at_rest: bool) -> Result<Option<Self>, StoreError> {
        let path = directory.path().join(FILE);
        let opened = Self::open_at(directory, &path, is_at_rest);
        opened.map_err(|fault| fault.into_store_error(&path, "open its file"))
    }

    fn open_at(directory: &StateDir, path: &Path, is_at_rest: bool) -> Result<Option<Self>, Fault> {
        if !open::is_there(directory, path)? {
            return Ok(None);
        }
        let mut staged = Staged::default();
        if is_at_rest {
            staged = Staged::read(directory)?;
        } else {
            Staged::wait_until_committed(directory)?;
        }
        let mut connection = readers::open(path)?;
        schema::require_current(&connection)?;
        let mut copy = None;
        if !staged.changes.is_empty() {
            match at_rest::copy_with(path, &staged) {
                Ok((copied, directory)) => (connection, copy) = (copied, Some(directory)),
                // The file is read as it is, so that a check finds the damage.
                Err(fault) if fault.is_damage() => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut lost = 0;
        if is_at_rest {
            let (_, testimony) = Witness::read(directory)?;
            let staged: HashSet<_> = staged.keys().collect();
            for key in testimony.keys.iter().filter(|key| !staged.contains(*key)) {
                lost += usize::from(!open::is_known(&connection, key)?);
            }
        }
        let path = path.to_owned();
        Ok(Some(Self {
            path,
            connection,
            lost,
            _copy: copy,
        }))
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
        let mut problems = match upkeep::check(&self.connection) {
            Ok(problems) => problems,
            Err(fault) if fault.is_damage() => vec![fault.problem()],
            Err(fault) => return Err(fault.into_store_error(&self.path, "be checked")),
        };
        if self.lost > 0 {
            let lost = self.lost;
            problems.push(format!(
                "calls that had begun are lost with the write-ahead log, or did not fit on the disk: {lost}"
            ));
        }
        Ok(problems)
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
