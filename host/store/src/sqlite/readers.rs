//! A pool of connections that only read, so that no list delays a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;
use tokio::time::{Instant, error::Elapsed, timeout_at};

use super::fault::Fault;
use super::writer::failed;

/// The most connections, and with them the most threads that wait for the disk. If it hangs, the others do other work.
const MOST: usize = 4;

/// A pool of connections to a file that only read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
    /// The threads whose callers have given up, and which still wait for the disk.
    late: Arc<AtomicUsize>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            path,
            idle: Mutex::default(),
            turns: Arc::new(Semaphore::new(MOST)),
            late: Arc::default(),
        })
    }

    /// Runs a function with a connection, on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let until = Instant::now() + super::PATIENCE;
        let turn = timeout_at(until, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|Elapsed { .. }| Fault::Late)?;
        let turn = turn.map_err(|_| failed("the store is closed"))?;
        let readers = Arc::clone(self);
        let mut reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            readers.read_here(work)
        });
        match timeout_at(until, &mut reading).await {
            Ok(done) => done.map_err(|error| Fault::Io(std::io::Error::other(error)))?,
            Err(Elapsed { .. }) => {
                self.late.fetch_add(1, Ordering::Relaxed);
                let late = Arc::clone(&self.late);
                tokio::spawn(async move {
                    _ = reading.await;
                    late.fetch_sub(1, Ordering::Relaxed);
                });
                Err(Fault::Late)
            }
        }
    }

    /// Returns whether a connection has waited for the disk longer than its caller did.
    pub(super) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed) > 0
    }

    fn read_here<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let pooled = self.idle.lock().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => open(&self.path)?,
        };
        let done = work(&connection);
        self.idle.lock().push(connection);
        done
    }

    /// Closes the idle connections.
    pub(super) fn close(&self) {
        self.turns.close();
        self.idle.lock().clear();
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
    connection.busy_timeout(super::BUSY)?;
    Ok(connection)
}
