//! Connections that only read, so that no list holds up a call.

use std::path::PathBuf;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;

/// How many connections wait for their next use.
const IDLE: usize = 4;

/// Connections that only read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let idle = Mutex::default();
        Self { path, idle }
    }

    /// Does something with a connection.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let idle = self.idle.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let done = work(&connection);
        let mut idle = self.idle.lock();
        if idle.len() < IDLE {
            idle.push(connection);
        }
        done
    }

    fn open(&self) -> Result<Connection, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.pragma_update(None, "cache_size", -512)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.busy_timeout(super::PATIENCE)?;
        Ok(connection)
    }

    /// Closes the connections that wait.
    pub(super) fn close(&self) {
        self.idle.lock().clear();
    }
}
