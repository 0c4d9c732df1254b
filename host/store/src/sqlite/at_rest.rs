//! A reader of calls and workspaces for a store that no host uses.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::state_dir::StateDir;

use super::core::Metrics;
use super::fault::Fault;
use super::present::is_there;
use super::{BUSY, FILE, beside, calls, log_bytes, pages, schema, workspace_row};
use crate::{Call, CallPage, CallQuery, CallState, StoreError, Workspaces};

/// A reader of the calls and workspaces of a store that no host uses. Reading changes no file. A call that was running when its host was killed is
/// still stored as running; the reader returns it as unknown, as the next host will.
#[derive(Debug)]
pub struct AtRest {
    connection: Connection,
    path: PathBuf,
    /// The copy to read if the file system is read-only: SQLite must take a lock to read a log.
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
        opened.map_err(|fault| fault.into_store_error(&path, "be read"))
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
        let mut page = page.map_err(|fault| fault.into_store_error(&self.path, "list calls"))?;
        for call in &mut page.calls {
            mark_interrupted(&mut call.state);
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
        let mut found =
            found.map_err(|fault| fault.into_store_error(&self.path, "look a call up"))?;
        if let Some(call) = &mut found {
            mark_interrupted(&mut call.state);
        }
        Ok(found)
    }

    /// Returns all workspaces and their chats.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn workspaces(&self) -> Result<Workspaces, StoreError> {
        let all = workspace_row::all(&self.connection);
        let all = all.map_err(|fault| fault.into_store_error(&self.path, "list workspaces"))?;
        Ok(all.0)
    }
}

/// Copies the files of a store on a read-only file system, where SQLite cannot take the lock that a log needs. Returns `None` on another
/// file system.
pub(super) fn copy_if_read_only(path: &Path) -> Result<Option<(Connection, TempDir)>, Fault> {
    let is_read_only = open_file(path)?.is_readonly("main")?;
    is_read_only.then(|| copy_files(path)).transpose()
}

fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

fn copy_files(path: &Path) -> Result<(Connection, TempDir), Fault> {
    let directory = tempfile::tempdir()?;
    let to = directory.path().join(FILE);
    std::fs::copy(path, &to)?;
    if log_bytes(path) > 0 {
        std::fs::copy(beside(path, "-wal"), beside(&to, "-wal"))?;
    }
    Ok((open_file(&to)?, directory))
}

/// Replaces the state of a call that was running when its host was killed.
fn mark_interrupted(state: &mut CallState) {
    if *state == CallState::Running {
        *state = CallState::Unknown;
    }
}

fn open(directory: &StateDir, path: PathBuf) -> Result<Option<AtRest>, Fault> {
    if !is_there(directory, &path)? {
        return Ok(None);
    }
    let (connection, copy) = match copy_if_read_only(&path)? {
        Some((copied, directory)) => (copied, Some(directory)),
        None => (open_file(&path)?, None),
    };
    connection.busy_timeout(BUSY)?;
    // In this mode, SQLite makes no shared-memory file, and no other connection can open the store.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    // Closing must not change the store: keep a log that has content. SQLite may remove an empty log.
    let keeps_log = log_bytes(&path) > 0;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps_log)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    schema::require_current(&connection)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(Some(AtRest {
        connection,
        path,
        _copy: copy,
    }))
}
