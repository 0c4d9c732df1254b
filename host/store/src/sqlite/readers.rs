//! A pool of connections that only read, so that no list delays a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::writer::Writer;

/// How many idle connections are kept.
const IDLE: usize = 4;

/// A pool of connections that only read.
#[derive(Debug)]
pub(super) enum Readers {
    /// Connections to a file.
    File {
        path: PathBuf,
        idle: Mutex<Vec<Connection>>,
    },
    /// The only connection of a store in memory, which also writes.
    Memory(Arc<Writer>),
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let idle = Mutex::default();
        Self::File { path, idle }
    }

    /// Runs a function with a connection.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (path, idle) = match self {
            Self::File { path, idle } => (path, idle),
            Self::Memory(writer) => return writer.alone(|core| work(&core.connection)),
        };
        let pooled = idle.lock().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => open(path)?,
        };
        let done = work(&connection);
        let mut idle = idle.lock();
        if idle.len() < IDLE {
            idle.push(connection);
        }
        done
    }

    /// Closes the idle connections.
    pub(super) fn close(&self) {
        if let Self::File { idle, .. } = self {
            idle.lock().clear();
        }
    }
}

/// Opens a connection that only reads.
pub(super) fn open(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "cache_size", -512)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    super::open::enable_stable_plans(&connection)?;
    connection.busy_timeout(super::PATIENCE)?;
    Ok(connection)
}
