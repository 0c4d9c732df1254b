//! Why a store refuses.

use std::path::PathBuf;

/// Why an operation of a store failed. If it was a change, nothing of it was stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk of the store is full")]
    Full,
    /// The file system is read-only, or the file is.
    #[error("the store cannot be written: its file system is read-only")]
    ReadOnly,
    /// Bytes of the store are not the ones that were written.
    #[error(
        "the store {path} is damaged ({problem}): set it aside and keep what can be read with `toolhost state recover`, or restore a \
         backup in the place of its files", path = path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first problem that was found.
        problem: String,
    },
    /// The store is so damaged that it cannot be said which calls it knew.
    #[error(
        "the store {path} cannot be recovered ({problem}): restore a backup in the place of its files; or move them away, after which \
         calls that ran before may run again", path = path.display()
    )]
    Unrecoverable {
        /// The file.
        path: PathBuf,
        /// The problem that the recovery met.
        problem: String,
    },
    /// A later version of Toolhost wrote the store.
    #[error(
        "the store {path} has version {version}, and this toolhost knows versions up to {known}: use the toolhost that wrote it, or \
         name another state directory with --state-dir", path = path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// An earlier version of Toolhost wrote the store, and it is only read.
    #[error(
        "the store {path} has version {version}, which is too old to be read as it is: start `toolhost serve` once with its state \
         directory, which brings it up to date", path = path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// The file is a database of another program.
    #[error("{path} is not a store of toolhost: move it away, or name another state directory with --state-dir", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is a backup, and the log beside it is that of the file whose place the backup took.
    #[error("{path} is a backup, and {path}-wal is the log of another store: remove {path}-wal and {path}-shm", path = path.display())]
    ForeignLog {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("the store cannot {action}")]
    Failed {
        /// The operation that was attempted.
        action: &'static str,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
