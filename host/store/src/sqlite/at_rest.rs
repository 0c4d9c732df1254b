//! Reading the calls of a store that no host uses.

use std::path::PathBuf;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::state_dir::StateDir;

use super::core::Metrics;
use super::fault::Fault;
use super::open::go_on;
use super::stage_file::Staged;
use super::witness::{Testimony, Witness};
use super::{FILE, beside, calls, log_bytes, pages, schema};
use crate::{Call, CallPage, CallQuery, CallState, StoreError};

/// The calls of a store that no host uses. Reading changes no file: calls that ran when a host was killed stay as they are, and are
/// shown as unknown, which the next host will call them.
#[derive(Debug)]
pub struct AtRest {
    connection: Connection,
    path: PathBuf,
    /// The copy that is read, if a killed host left changes that the file does not have, or if the file system is read-only: SQLite
    /// reads a log only where it can take a lock.
    _copy: Option<TempDir>,
}

impl AtRest {
    /// Opens the store of a state directory; `None` if there is none. The caller must hold the
    /// [`Lock`](toolhost_state::state_dir::Lock) of the directory.
    ///
    /// # Errors
    ///
    /// If the store is damaged, another program or version wrote it, or the system refuses.
    pub fn open(directory: &StateDir) -> Result<Option<Self>, StoreError> {
        let path = directory.path().join(FILE);
        let opened = open(directory, path.clone());
        opened.map_err(|fault| fault.told(&path, "be read"))
    }

    /// Returns a page of calls, newest first.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn calls(&self, mut query: CallQuery) -> Result<CallPage, StoreError> {
        if let Some(states) = &mut query.states {
            states.remove(&CallState::Running);
            if states.contains(&CallState::Unknown) {
                states.insert(CallState::Running);
            }
        }
        let page = pages::calls(&self.connection, &query);
        let mut page = page.map_err(|fault| fault.told(&self.path, "list calls"))?;
        for call in &mut page.calls {
            stop(&mut call.state);
        }
        Ok(page)
    }

    /// Returns a call with its arguments and its outcome, as far as they are kept; `None` if the id was not seen.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn call(&self, chat: &ChatId, call: &CallId) -> Result<Option<Call>, StoreError> {
        let found = calls::look_up(&self.connection, &Metrics::default(), chat, call);
        let mut found = found.map_err(|fault| fault.told(&self.path, "look a call up"))?;
        if let Some(call) = &mut found {
            stop(&mut call.state);
        }
        Ok(found)
    }
}

fn stop(state: &mut CallState) {
    if *state == CallState::Running {
        *state = CallState::Unknown;
    }
}

fn open(directory: &StateDir, path: PathBuf) -> Result<Option<AtRest>, Fault> {
    let file = directory.open_file(FILE)?;
    let Some(file) = file else {
        return Ok(None);
    };
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    let staged = Staged::read(directory)?;
    let mut copy = None;
    if connection.is_readonly("main")? || !staged.changes.is_empty() {
        let place = tempfile::tempdir()?;
        let to = place.path().join(FILE);
        std::fs::copy(&path, &to)?;
        if log_bytes(&path) > 0 {
            std::fs::copy(beside(&path, "-wal"), beside(&to, "-wal"))?;
        }
        connection = Connection::open_with_flags(&to, flags)?;
        copy = Some(place);
    }
    connection.busy_timeout(super::PATIENCE)?;
    // With this mode, SQLite makes no file of shared memory, and only this connection reads.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    // SQLite removes an empty log when it closes. A log with something in it stays.
    let keeps_log = log_bytes(&path) > 0;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps_log)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    schema::migrate(&connection, schema::STEPS, |version| {
        Err(Fault::Older { version })
    })?;
    schema::verify(&connection, schema::STEPS)?;
    if !staged.changes.is_empty() {
        let nothing = (Witness::none(), &Testimony::default());
        let (full, _) = std::sync::mpsc::sync_channel(1);
        connection = go_on(connection, nothing, path.clone(), full, &staged)?.connection;
    }
    connection.pragma_update(None, "query_only", true)?;
    Ok(Some(AtRest {
        connection,
        path,
        _copy: copy,
    }))
}
