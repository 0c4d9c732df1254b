//! The error of a store.

use std::path::PathBuf;

/// A reason why an operation of a store failed. If the operation was a change, nothing of it was stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk of {path} is full: free some space there", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file system or the file is read-only.
    #[error("{path} cannot be written: make its file system writable", path = path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The store does not contain the bytes that were written.
    #[error(
        "the store {path} is damaged ({problem}): run `toolhost state recover`, which sets it aside and keeps what can be read, or \
         replace its files by a backup", path = path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first problem that was found.
        problem: String,
    },
    /// The store is so damaged that its call ids are lost.
    #[error(
        "the store {path} cannot be recovered ({problem}): replace its files by a backup, or move them away; then earlier calls may run \
         again", path = path.display()
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
    /// An earlier version of Toolhost wrote the store, and it was opened only for reading.
    #[error(
        "the store {path} has version {version}, which this toolhost must upgrade first: start `toolhost serve` once with its state \
         directory", path = path.display()
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
    /// The file is a backup, and the log beside it belongs to the file that the backup replaced.
    #[error("{path} is a backup, and {path}-wal is the log of another store: remove {path}-wal and {path}-shm", path = path.display())]
    ForeignLog {
        /// The file.
        path: PathBuf,
    },
    /// The disk has not answered in time.
    #[error("the disk of {path} does not answer: look at the log of the machine", path = path.display())]
    Late {
        /// The file.
        path: PathBuf,
    },
    /// The database cannot be reached.
    #[error("the database cannot be reached")]
    Unreachable {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The host was cut off from the database for so long that other hosts take its calls over.
    #[error(
        "this host was cut off from the database and has lost its lease; it takes a new one as soon as it can"
    )]
    NoLease,
    /// Another failure.
    #[error("the store cannot {action}")]
    Failed {
        /// The operation that was attempted.
        action: &'static str,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
