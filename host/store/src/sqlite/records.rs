//! Processes, temporary files, sessions, notices and ended chats.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use toolhost_state::id::ChatId;

use super::core::Core;
use super::fault::Fault;
use super::filter::Filter;
use super::process_row::ProcessRow;
use super::{notice_row, session_row};
use crate::{Notice, Process, ProcessQuery, Processes, Session};

impl Core {
    pub(super) fn add_process(&mut self, process: &Process) -> Result<(), Fault> {
        ProcessRow::of(process)?.add(&self.connection)
    }

    pub(super) fn update_processes(&mut self, processes: &[Process]) -> Result<(), Fault> {
        for process in processes {
            ProcessRow::of(process)?.update(&self.connection)?;
        }
        Ok(())
    }

    pub(super) fn forget_processes(&mut self, ids: &[String]) -> Result<(), Fault> {
        let mut forget = self
            .connection
            .prepare_cached("DELETE FROM processes WHERE id = ?1")?;
        for id in ids {
            forget.execute([id])?;
        }
        Ok(())
    }

    pub(super) fn add_temporary(&mut self, path: &Path, gone: &[PathBuf]) -> Result<(), Fault> {
        self.forget_temporaries(gone)?;
        let mut add = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO temporaries VALUES (?1)")?;
        add.execute([path.as_os_str().as_bytes()])?;
        Ok(())
    }

    pub(super) fn forget_temporaries(&mut self, paths: &[PathBuf]) -> Result<(), Fault> {
        let mut forget = self
            .connection
            .prepare_cached("DELETE FROM temporaries WHERE path = ?1")?;
        for path in paths {
            forget.execute([path.as_os_str().as_bytes()])?;
        }
        Ok(())
    }

    pub(super) fn put_session(&mut self, session: &Session) -> Result<(), Fault> {
        session_row::put(&self.connection, session)
    }

    pub(super) fn remove_session(&mut self, id: &str) -> Result<(), Fault> {
        self.connection
            .prepare_cached("DELETE FROM sessions WHERE id = ?1")?
            .execute([id])?;
        Ok(())
    }

    pub(super) fn put_notice(&mut self, notice: &Notice) -> Result<(), Fault> {
        notice_row::put(&self.connection, notice)
    }

    pub(super) fn forget_notices(&mut self, ids: &[String]) -> Result<(), Fault> {
        notice_row::forget(&self.connection, ids)
    }

    pub(super) fn end_chat(&mut self, chat: &ChatId) -> Result<(), Fault> {
        let mut end = self
            .connection
            .prepare_cached("UPDATE chats SET ended = ?2, found = NULL WHERE name = ?1")?;
        end.execute(params![chat.as_str(), self.now.wall])?;
        Ok(())
    }
}

/// Returns processes in the order in which they were started, and a fault for each that cannot be read. At a damaged page, the list
/// ends.
pub(super) fn processes(
    connection: &Connection,
    query: &ProcessQuery,
) -> Result<(Processes, Vec<Fault>), Fault> {
    let mut filter = Filter::new(ProcessRow::SELECT);
    if let Some(chat) = &query.chat {
        filter.and("chat = ?", chat.to_string());
    }
    filter.and_begins_with("chat", &query.prefix);
    if let Some(key) = &query.key {
        filter.and("key = ?", key.clone());
    }
    if query.live {
        filter.and("live = ?", true);
    }
    if let Some(after) = &query.after {
        filter.and(
            "seq > ifnull((SELECT seq FROM processes WHERE id = ?), 0)",
            after.clone(),
        );
    }
    let mut faults = Vec::new();
    let found = filter.readable_rows(
        connection,
        " ORDER BY seq",
        query.limit,
        ProcessRow::read,
        &mut faults,
    )?;
    let damaged = faults.len() as u64;
    Ok((Processes { found, damaged }, faults))
}

/// Returns the temporary files that may exist. Damaged rows are left out, and stay in the table.
pub(super) fn temporaries(connection: &Connection) -> Result<Vec<PathBuf>, Fault> {
    let mut all = connection.prepare_cached("SELECT path FROM temporaries")?;
    let all = all.query_map([], |row| Ok(row.get(0).map(OsString::from_vec)))?;
    let all: Vec<rusqlite::Result<OsString>> = all.collect::<rusqlite::Result<_>>()?;
    Ok(all.into_iter().flatten().map(PathBuf::from).collect())
}
