//! The errors of PostgreSQL, and which of them say that it cannot be reached.

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;
use toolhost_store::StoreError;

/// A failure of an operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The database, or the connection to it.
    #[error(transparent)]
    Database(#[from] tokio_postgres::Error),
    /// No connection could be had.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The database did not answer.
    #[error("the database did not answer within {} s", .0.as_secs())]
    Late(std::time::Duration),
    /// The host has lost its lease.
    #[error("the lease is lost")]
    NoLease,
    /// The schema has tables, and its version says that it has none.
    #[error(
        "the schema toolhost is half made: it has tables, and its version is 0; restore it from a backup, or remove it with \
         DROP SCHEMA toolhost CASCADE, which forgets all calls"
    )]
    HalfMade,
    /// A row has a value that no version of this program writes.
    #[error("a row has {0}")]
    Odd(&'static str),
}

impl Fault {
    /// Returns whether the database could not be reached or did not answer, so that it is not known whether a change was made.
    pub(crate) fn is_unreachable(&self) -> bool {
        let is_connection = |error: &tokio_postgres::Error| match error.code() {
            // The server is starting, ending, or has no room for the connection.
            Some(code) => {
                let code = code.code();
                code.starts_with("57P") || code.starts_with("08") || code.starts_with("53300")
            }
            None => {
                let source = std::error::Error::source(error);
                let is_of_socket = source.is_some_and(|source| source.is::<std::io::Error>());
                error.is_closed() || is_of_socket
            }
        };
        match self {
            Self::Database(error) => is_connection(error),
            Self::Pool(PoolError::Backend(error)) => is_connection(error),
            Self::Pool(_) | Self::Late(_) => true,
            Self::NoLease | Self::HalfMade | Self::Odd(_) => false,
        }
    }

    /// Returns whether the same transaction may succeed the next time, because it met another one.
    pub(crate) fn is_conflict(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        let conflicts = [
            &SqlState::T_R_DEADLOCK_DETECTED,
            &SqlState::T_R_SERIALIZATION_FAILURE,
        ];
        error.code().is_some_and(|code| conflicts.contains(&code))
    }

    /// Returns the error that callers of a store get.
    pub(crate) fn into_store_error(self, action: &'static str) -> StoreError {
        match self {
            Self::NoLease => StoreError::NoLease,
            fault if fault.is_unreachable() => StoreError::Unreachable {
                source: fault.into_source(),
            },
            fault => StoreError::Failed {
                action,
                source: fault.into_source(),
            },
        }
    }

    /// Returns what is behind the fault, in words of its own: the error of the driver says only `db error`.
    fn into_source(self) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::Database(error) | Self::Pool(PoolError::Backend(error)) => {
                let text = error.as_db_error().map(|error| error.message().to_owned());
                text.map_or_else(|| error.into(), Into::into)
            }
            fault => fault.into(),
        }
    }
}
