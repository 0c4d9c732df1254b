//! The implementation of [`Store`] on SQLite, with a file in the state directory.

mod at_rest;
mod blocked;
mod bloom;
mod calls;
mod chats;
mod clock;
mod core;
mod fault;
mod file;
mod filter;
mod known;
mod nested;
mod open;
mod operations;
mod pages;
mod process_row;
mod readers;
mod records;
mod recover;
mod reserve;
mod row;
mod schema;
mod session_row;
mod stage_commit;
mod stage_file;
mod staging;
mod survey;
mod sweep;
mod upkeep;
mod witness;
mod workspace_row;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use toolhost_state::state_dir::{Lock, StateDir};

use self::core::{Core, Metrics, Running};
use crate::{Answer, StoreError};
use fault::Fault;
use known::Known;
use readers::Readers;
use staging::Staging;
use witness::Witness;
use writer::Writer;

pub use at_rest::AtRest;
pub use file::StoreFile;
pub use recover::Recovered;

/// The name of the database file in the state directory.
const FILE: &str = "store.db";

/// How long a connection waits for a lock that another connection has.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// A store in a file of the state directory.
#[derive(Debug)]
pub struct Sqlite {
    shared: Arc<Shared>,
    /// The thread that empties the write-ahead log.
    log_thread: Option<JoinHandle<()>>,
    /// The thread that reads the known calls into memory.
    survey_thread: Option<JoinHandle<()>>,
    /// Released when the store is closed.
    lock: Option<Lock>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    has_set_aside: bool,
    writer: Arc<Writer>,
    readers: Readers,
    witness: Arc<Mutex<Witness>>,
    known: Arc<Known>,
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
        let store_error = |fault: Fault| fault.into_store_error(&path, "open its file");
        let (full, asked) = sync_channel(1);
        let core = match open::open(directory, durability, full.clone()) {
            // SQLite reports a full disk by various errors, so free the reserve after any of them and try again.
            Err(Fault::Sql(_) | Fault::Io(_)) if reserve::free(directory).unwrap_or(false) => {
                open::open(directory, durability, full)
            }
            opened => opened,
        };
        let mut core = core.map_err(store_error)?;
        reserve::create(directory);
        core.stage_changes(directory, durability);
        let (running, metrics) = (Arc::clone(&core.running), Arc::clone(&core.metrics));
        let (witness, known) = (Arc::clone(&core.witness), Arc::clone(&core.known));
        let shared = Arc::new(Shared {
            path: path.clone(),
            has_set_aside: recover::has_set_aside(directory)
                .map_err(|error| store_error(error.into()))?,
            writer: Writer::start(core, durability).map_err(|error| store_error(error.into()))?,
            readers: Readers::new(path.clone()),
            witness,
            known,
            running,
            metrics,
        });
        let start = |name: &str, work: fn(&Shared, &Receiver<()>), asked| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(move || work(&shared, &asked));
            thread.map_err(|error| store_error(error.into()))
        };
        let log_thread = Some(start("store", Shared::empty_log_when_asked, asked)?);
        let mut survey_thread = None;
        if shared.writer.staging().is_some() {
            let (wake, woken) = sync_channel(1);
            survey_thread = Some(start("store-survey", survey::survey_when_asked, woken)?);
            shared.known.begin(wake);
        }
        Ok(Self {
            shared,
            log_thread,
            survey_thread,
            lock: None,
        })
    }

    /// Makes a store in memory, which ends with the host.
    ///
    /// # Errors
    ///
    /// If the system has no memory for it.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::in_memory_of(None)
    }

    /// Makes a store in memory with a copy of the records of a state directory, for a host whose disk is full or read-only. The file
    /// is not changed. If the directory has a store, a call begins only if it could be noted there. The caller must hold the lock of the
    /// directory.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn in_memory_of(directory: Option<&StateDir>) -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let store_error = |fault: Fault| fault.into_store_error(&path, "be copied into memory");
        let mut source = None;
        if let Some(directory) = directory
            && open::is_there(directory, &directory.path().join(FILE)).map_err(store_error)?
        {
            source = Some(directory);
        }
        // A store in memory has no log file, so nothing ever asks for the log to be emptied.
        let (full, _) = sync_channel(1);
        let core = open::open_in_memory(source, full).map_err(store_error)?;
        let (running, metrics) = (Arc::clone(&core.running), Arc::clone(&core.metrics));
        let (witness, known) = (Arc::clone(&core.witness), Arc::clone(&core.known));
        let writer =
            Writer::start(core, Durability::Host).map_err(|error| store_error(error.into()))?;
        let has_set_aside = directory.map_or(Ok(false), recover::has_set_aside);
        let shared = Arc::new(Shared {
            has_set_aside: has_set_aside.map_err(|error| store_error(error.into()))?,
            readers: Readers::Memory(Arc::clone(&writer)),
            path,
            writer,
            witness,
            known,
            running,
            metrics,
        });
        Ok(Self {
            shared,
            log_thread: None,
            survey_thread: None,
            lock: None,
        })
    }

    /// Holds the lock of the directory until the store is closed.
    #[must_use]
    pub fn holding(mut self, lock: Lock) -> Self {
        self.lock = Some(lock);
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
        let store = Self::open(directory, Durability::Host)?;
        if let Some(file) = StoreFile::open(directory, true)?
            && let Some(problem) = file.check()?.into_iter().next()
        {
            let path = file.path().to_owned();
            return Err(StoreError::Damaged { path, problem });
        }
        let compacted = store.shared.writer.alone(Core::compact);
        compacted.map_err(|fault| fault.into_store_error(&store.shared.path, "be compacted"))
    }

    /// Makes a change on the connection that writes.
    fn change<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnMut(&mut Core) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            let made = self.shared.writer.make(work).await;
            made.map_err(|fault| fault.into_store_error(&self.shared.path, action))
        })
    }

    /// Stages a change, or makes it if it cannot be staged.
    fn change_soon<T: Send + 'static, V: Send + 'static>(
        &self,
        action: &'static str,
        value: V,
        stage: impl FnOnce(&mut Staging, &V) -> Option<T> + Send + 'static,
        work: impl Fn(&mut Core, &V) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            match self.shared.writer.stage(|staging| stage(staging, &value)) {
                Some(staged) => Ok(staged),
                None => self.change(action, move |core| work(core, &value)).await,
            }
        })
    }

    /// Runs an operation on a thread that may block.
    fn run_blocking<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Shared) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || {
                shared.writer.flush();
                work(&shared).map_err(|fault| {
                    if fault.is_damage() {
                        shared.metrics.damage(&fault);
                    }
                    fault.into_store_error(&shared.path, action)
                })
            });
            done.await.unwrap_or_else(|error| {
                Err(StoreError::Failed {
                    action,
                    source: error.into(),
                })
            })
        })
    }

    /// Runs a query on a thread that may block.
    fn list<T: Send + 'static>(
        &self,
        action: &'static str,
        list: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        self.run_blocking(action, move |shared| shared.read(list))
    }
}

impl Shared {
    /// Reads what the store has, with the staged changes that could not be committed.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        match self.writer.has_failed() {
            false => self.readers.read(read),
            true => self.writer.alone(|core| core.preview(read)),
        }
    }

    fn empty_log_when_asked(&self, asked: &Receiver<()>) {
        while asked.recv().is_ok() {
            // Sync the log first, while calls can still be stored: the step below then has less to sync while calls wait.
            let log = std::fs::File::open(beside(&self.path, "-wal"));
            _ = log.and_then(|log| log.sync_data());
            if let Err(fault) = self.writer.alone(Core::empty_log) {
                let error = fault.into_store_error(&self.path, "empty its log");
                tracing::warn!(%error, "the write-ahead log of the store was not emptied and keeps growing");
            }
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.shared.readers.close();
        self.shared.known.close();
        if let Some(thread) = self.survey_thread.take() {
            _ = thread.join();
        }
        self.shared.writer.flush();
        if let Some(staging) = self.shared.writer.staging() {
            staging.lock().close();
        }
        if let Err(fault) = self.shared.writer.close() {
            tracing::warn!(
                ?fault,
                "the write-ahead log of the store was not emptied: the next start must read it"
            );
        }
        if let Some(thread) = self.log_thread.take() {
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
