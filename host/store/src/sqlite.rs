//! The implementation of [`Store`] on SQLite, with a file in the state directory.

mod at_rest;
mod calls;
mod chats;
mod checksum;
mod clock;
mod core;
mod fault;
mod file;
mod filter;
mod key;
mod nested;
mod notice_row;
mod open;
mod operations;
mod pages;
mod present;
mod process_row;
mod readers;
mod records;
mod recover;
mod room;
mod row;
mod schema;
mod session_row;
mod sweep;
mod upkeep;
mod workspace_row;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use toolhost_state::state_dir::{Lock, StateDir};

use self::core::{Core, Metrics, Running};
use crate::{Answer, StoreError};
use fault::Fault;
use readers::Readers;
use room::Room;
use writer::Writer;

pub use at_rest::AtRest;
pub use file::{SchemaVersion, StoreFile};
pub use recover::Recovered;

/// The name of the database file in the state directory.
const FILE: &str = "store.db";

/// How long a connection waits for a lock that another connection has.
const BUSY: Duration = Duration::from_secs(5);

/// How long a caller waits for the disk. After that, a change was not made, or is undone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The failures that stored changes survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the host process, even by SIGKILL. Changes are written but not synced: if the machine crashes, the last changes may
    /// be lost, and the others stay whole.
    #[default]
    Host,
    /// A crash of the machine as well. Every change is synced.
    Power,
}

/// A text that names no durability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no durability {0:?}: it is host or power")]
pub struct UnknownDurability(String);

impl std::str::FromStr for Durability {
    type Err = UnknownDurability;

    fn from_str(text: &str) -> Result<Self, UnknownDurability> {
        match text {
            "host" => Ok(Self::Host),
            "power" => Ok(Self::Power),
            other => Err(UnknownDurability(other.to_owned())),
        }
    }
}

/// A store in a file of the state directory, or in memory. No operation waits for the disk on the thread of its caller, or for longer than
/// ten seconds.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    has_set_aside: bool,
    writer: Writer,
    /// `None` for a store in memory, whose one connection also reads.
    readers: Option<Arc<Readers>>,
    running: Running,
    metrics: Arc<Metrics>,
}

/// Returns the path of a file beside the store.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the bytes of the write-ahead log of a store.
fn log_bytes(path: &Path) -> u64 {
    std::fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len())
}

impl Sqlite {
    /// Opens the store of a state directory, or creates it if there is none. The caller must hold the
    /// [`Lock`](toolhost_state::state_dir::Lock) of the directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] if a later version wrote the file, and [`StoreError::Foreign`] if another program did.
    /// [`StoreError::Damaged`] if damage may hide calls that the store knew. Other errors if the system refuses.
    pub fn open(directory: &StateDir, durability: Durability) -> Result<Self, StoreError> {
        let path = directory.path().join(FILE);
        let opening = || {
            let mut core = match open::open(directory, durability) {
                // SQLite reports a full disk by various errors, so free the reserve after any of them and try again.
                Err(Fault::Sql(_) | Fault::Io(_))
                    if room::free_reserve(directory).unwrap_or(false) =>
                {
                    open::open(directory, durability)?
                }
                opened => opened?,
            };
            core.room = Room::take(&path);
            room::make_reserve(directory);
            Ok(Self {
                path: path.clone(),
                has_set_aside: recover::has_set_aside(directory)?,
                readers: Some(Readers::new(path.clone())),
                running: Arc::clone(&core.running),
                metrics: Arc::clone(&core.metrics),
                writer: Writer::start(core)?,
            })
        };
        opening().map_err(|fault: Fault| fault.into_store_error(&path, "open its file"))
    }

    /// Makes a store in memory, which ends with the host.
    ///
    /// # Errors
    ///
    /// If the system has no memory for it.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let core = open::open_in_memory(None);
        let core = core.map_err(|fault| fault.into_store_error(&path, "be made in memory"))?;
        Ok(Self::on(core, false))
    }

    /// Makes a store in memory with a copy of the records of a state directory whose disk cannot be written. The file is not changed. If
    /// the directory has a store, no call begins, and `refusal` says why. The caller must hold the lock of the directory.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn in_memory_of(
        directory: &StateDir,
        refusal: std::io::ErrorKind,
    ) -> Result<Self, StoreError> {
        let path = directory.path().join(FILE);
        let opening = || {
            let source = present::is_there(directory, &path)?.then_some(path.as_path());
            let mut core = open::open_in_memory(source)?;
            core.refusal = source.map(|_| refusal);
            Ok(Self::on(core, recover::has_set_aside(directory)?))
        };
        opening().map_err(|fault: Fault| fault.into_store_error(&path, "be copied into memory"))
    }

    /// Makes a store of a connection to memory.
    fn on(core: Core, has_set_aside: bool) -> Self {
        Self {
            path: core.path.clone(),
            has_set_aside,
            readers: None,
            running: Arc::clone(&core.running),
            metrics: Arc::clone(&core.metrics),
            writer: Writer::here(core),
        }
    }

    /// Holds the lock of the directory until the store is closed.
    #[must_use]
    pub fn holding(self, lock: Lock) -> Self {
        self.writer.hold(lock);
        self
    }

    /// Recovers a damaged store: renames its files, with the time in the new names, and makes a new store with everything that can be
    /// read. If only the id of a call can be read, the call is [`CallState::Unknown`](crate::CallState::Unknown) in the new store. The
    /// caller must hold the lock of the directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unrecoverable`] if call ids are lost. The files then get their old names back.
    pub fn recover(directory: &StateDir, durability: Durability) -> Result<Recovered, StoreError> {
        let path = directory.path().join(FILE);
        let recovered = recover::recover(directory, durability);
        recovered.map_err(
            |fault| match fault.into_store_error(&path, "be recovered") {
                StoreError::Damaged { path, problem } => {
                    StoreError::Unrecoverable { path, problem }
                }
                error => error,
            },
        )
    }

    /// Returns the unused space of the file to the file system. The caller must hold the lock of the directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if [`StoreFile::check`] finds a problem. SQLite would rebuild all indexes, and nothing would show any
    /// more which rows are missing.
    pub fn compact(directory: &StateDir) -> Result<(), StoreError> {
        let path = directory.path().join(FILE);
        let compacting = || {
            let mut core = open::open(directory, Durability::Host)?;
            if let Some(problem) = upkeep::check(&core.connection)?.into_iter().next() {
                return Ok(Some(problem));
            }
            core.compact()?;
            core.close();
            Ok(None)
        };
        match compacting().map_err(|fault: Fault| fault.into_store_error(&path, "be compacted"))? {
            Some(problem) => Err(StoreError::Damaged { path, problem }),
            None => Ok(()),
        }
    }

    /// Makes a change on the connection that writes.
    fn change<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnMut(&mut Core) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        self.change_or_undo(action, work, |_, _| ())
    }

    /// Makes a change on the connection that writes. `undo` is called if the caller has given up.
    fn change_or_undo<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnMut(&mut Core) -> Result<T, Fault> + Send + 'static,
        undo: impl FnOnce(&mut Core, T) + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            let made = self.writer.make(work, undo).await;
            made.map_err(|fault| fault.into_store_error(&self.path, action))
        })
    }

    /// Reads on a connection that does not write.
    fn read<T: Send + 'static>(
        &self,
        action: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            self.look(read).await.map_err(|fault| {
                if fault.is_damage() {
                    self.metrics.damage(&fault);
                }
                fault.into_store_error(&self.path, action)
            })
        })
    }

    /// Does what [`Sqlite::read`] does, for other operations of the store.
    async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        match &self.readers {
            Some(readers) => readers.read(read).await,
            None => self.writer.alone(|core| read(&core.connection)).await,
        }
    }

    /// Reads records of which some may be damaged. Counts these.
    fn read_sound<T: Send + 'static>(
        &self,
        action: &'static str,
        read: impl FnOnce(&Connection) -> Result<(T, Vec<Fault>), Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        let metrics = Arc::clone(&self.metrics);
        self.read(action, move |connection| {
            let (sound, faults) = read(connection)?;
            faults.iter().for_each(|fault| metrics.damage(fault));
            Ok(sound)
        })
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        if let Some(readers) = &self.readers {
            readers.close();
        }
        if !self.writer.close() {
            tracing::warn!(path = %self.path.display(), "the disk of the store does not answer: the next start must read its log");
        }
    }
}

#[cfg(test)]
mod tests;
