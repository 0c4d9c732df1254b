//! The error type inside the SQLite store, before it becomes a [`StoreError`].

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::StoreError;

/// A reason why an operation failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite refused.
    Sql(rusqlite::Error),
    /// The system refused.
    Io(std::io::Error),
    /// The store is inconsistent, because bytes of it were changed or lost. The text says what is wrong.
    Torn(&'static str),
    /// A later version wrote the file.
    Newer { version: i64, known: i64 },
    /// An earlier version wrote the file, and the file was opened only for reading.
    Older { version: i64 },
    /// Another program wrote the file.
    Foreign,
    /// The log belongs to another file.
    ForeignLog,
    /// The disk has not answered in time.
    Late,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl Fault {
    /// Finds out why the disk of a file takes no change, for which SQLite has one error: a new file there meets the same reason.
    pub(super) fn explained(self, path: &Path) -> Self {
        let Self::Sql(error) = &self else {
            return self;
        };
        if error.sqlite_error_code() != Some(ErrorCode::SystemIoFailure) {
            return self;
        }
        let directory = path.parent().unwrap_or(path);
        match tempfile::tempfile_in(directory) {
            Err(error) => Self::Io(error),
            Ok(_) => self,
        }
    }

    /// Returns whether the failure shows that the store is damaged.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Torn(_) => true,
            Self::Sql(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(
                    error.code,
                    ErrorCode::DatabaseCorrupt
                        | ErrorCode::NotADatabase
                        | ErrorCode::ConstraintViolation
                ) || error.extended_code == rusqlite::ffi::SQLITE_ERROR
            }
            // A column has a value or a type that the program never writes.
            Self::Sql(
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::Utf8Error(..)
                | rusqlite::Error::IntegralValueOutOfRange(..),
            ) => true,
            // The statements of the program are fixed, so one that does not compile shows that the schema is damaged.
            Self::Sql(rusqlite::Error::SqlInputError { .. }) => true,
            Self::Sql(_)
            | Self::Io(_)
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Foreign
            | Self::ForeignLog
            | Self::Late => false,
        }
    }

    /// Returns a text that describes the damage; empty if the failure is none.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::Torn(problem) => (*problem).to_owned(),
            Self::Sql(error) => error.to_string(),
            Self::Io(_)
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Foreign
            | Self::ForeignLog
            | Self::Late => String::new(),
        }
    }

    /// Returns the error for callers of the store. `action` says what was attempted: "the store cannot {action}".
    pub(super) fn into_store_error(self, path: &Path, action: &'static str) -> StoreError {
        let path = path.to_path_buf();
        if self.is_damage() {
            let problem = self.problem();
            return StoreError::Damaged { path, problem };
        }
        match self {
            Self::Newer { version, known } => StoreError::Newer {
                path,
                version,
                known,
            },
            Self::Older { version } => StoreError::Older { path, version },
            Self::Foreign => StoreError::Foreign { path },
            Self::ForeignLog => StoreError::ForeignLog { path },
            Self::Late => StoreError::Late { path },
            Self::Io(error) => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full { path },
                ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
                _ => StoreError::Failed {
                    action,
                    source: error.into(),
                },
            },
            // The index of the log found no room.
            Self::Sql(rusqlite::Error::SqliteFailure(error, _))
                if error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE =>
            {
                StoreError::Full { path }
            }
            Self::Sql(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => StoreError::Full { path },
                Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
                _ => StoreError::Failed {
                    action,
                    source: error.into(),
                },
            },
            Self::Torn(problem) => StoreError::Failed {
                action,
                source: problem.into(),
            },
        }
    }
}
