//! Maintenance of a store: check, export, compaction and backup.

use std::io::Write;
use std::path::Path;

use rusqlite::{Connection, params};
use serde::Serialize;

use super::core::Core;
use super::fault::Fault;
use super::row::{CallRow, select_calls};
use super::{chats, notice_row, records, session_row, workspace_row};
use crate::{Binding, ChatQuery, Notice, Process, ProcessQuery, Session, StoredWorkspace};

/// The most problems that a check returns.
const PROBLEMS: usize = 100;

/// A line of an export.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Chat(&'a crate::Chat),
    Call(&'a crate::Call),
    Process(&'a Process),
    Session(&'a Session),
    Notice(&'a Notice),
    Temporary(&'a Path),
    Workspace(&'a StoredWorkspace),
    Binding(&'a Binding),
}

/// Checks all records and returns the problems that it finds.
pub(super) fn check(connection: &Connection) -> Result<Vec<String>, Fault> {
    let mut pages = connection.prepare("PRAGMA integrity_check")?;
    let pages = pages.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems: Vec<_> = match pages.collect::<rusqlite::Result<Vec<_>>>() {
        Ok(lines) => lines.into_iter().filter(|line| line != "ok").collect(),
        Err(error) => vec![error.to_string()],
    };
    let mut rows = connection.prepare(select_calls!("ORDER BY c.seq"))?;
    let mut rows = rows.query([])?;
    while problems.len() < PROBLEMS {
        let row = match rows.next() {
            Ok(Some(row)) => CallRow::read(row),
            Ok(None) => break,
            Err(error) => {
                problems.push(format!("calls: {error}"));
                break;
            }
        };
        match row {
            Ok(row) if row.is_sound() && (row.outcome.is_none() || row.outcome().is_some()) => {}
            Ok(row) => problems.push(format!("call {} does not match its checksum", row.seq)),
            Err(error) => problems.push(format!("a call cannot be read: {error}")),
        }
    }
    let (_, faults) = records::processes(connection, &ProcessQuery::all())?;
    let (_, of_sessions) = session_row::all(connection)?;
    let (_, of_notices) = notice_row::all(connection)?;
    let (_, of_workspaces) = workspace_row::all(connection)?;
    let notices = of_notices.iter().map(|fault| ("a notice", fault));
    let workspaces = of_workspaces.iter().map(|fault| ("a workspace", fault));
    let processes = faults.iter().map(|fault| ("a process", fault));
    let sessions = of_sessions.iter().map(|fault| ("a session", fault));
    let texts = processes
        .chain(sessions)
        .chain(notices)
        .chain(workspaces)
        .map(|(row, fault)| format!("{row} cannot be read: {}", fault.problem()));
    problems.extend(texts.take(PROBLEMS.saturating_sub(problems.len())));
    Ok(problems)
}

/// Writes all records as lines of JSON.
pub(super) fn export(connection: &Connection, sink: &mut dyn Write) -> Result<(), Fault> {
    let mut line = |line: Line<'_>| -> Result<(), Fault> {
        serde_json::to_writer(&mut *sink, &line).map_err(std::io::Error::from)?;
        Ok(sink.write_all(b"\n")?)
    };
    let all = ChatQuery {
        limit: u32::MAX,
        ..ChatQuery::default()
    };
    for chat in chats::page(connection, &all)?.chats {
        line(Line::Chat(&chat))?;
    }
    let mut rows = connection.prepare(select_calls!("ORDER BY c.seq"))?;
    for row in rows.query_map([], CallRow::read)? {
        line(Line::Call(&row?.into_call()?))?;
    }
    let (processes, _) = records::processes(connection, &ProcessQuery::all())?;
    for process in processes.found {
        line(Line::Process(&process))?;
    }
    for session in session_row::all(connection)?.0 {
        line(Line::Session(&session))?;
    }
    for notice in notice_row::all(connection)?.0 {
        line(Line::Notice(&notice))?;
    }
    let (workspaces, _) = workspace_row::all(connection)?;
    for workspace in &workspaces.found {
        line(Line::Workspace(workspace))?;
    }
    for binding in &workspaces.bindings {
        line(Line::Binding(binding))?;
    }
    for path in records::temporaries(connection)? {
        line(Line::Temporary(&path))?;
    }
    sink.flush()?;
    Ok(())
}

/// Writes a copy to a new file. The copy is synced before the file gets its name.
pub(super) fn backup(connection: &Connection, file: &Path) -> Result<(), Fault> {
    let taken = || std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    if file.symlink_metadata().is_ok() {
        return Err(taken().into());
    }
    let partial = super::beside(file, &format!(".partial-{}", std::process::id()));
    copy(connection, &partial)?;
    let named = std::fs::File::open(&partial).and_then(|copy| {
        copy.sync_all()?;
        // Unlike a rename, a link does not replace a file that another program has made meanwhile. Some file systems have no links.
        match std::fs::hard_link(&partial, file) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                std::fs::rename(&partial, file)
            }
            linked => linked,
        }
    });
    _ = std::fs::remove_file(&partial);
    Ok(named?)
}

/// Writes a copy to a new file, which only the owner can read.
pub(super) fn copy(connection: &Connection, file: &Path) -> Result<(), Fault> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    let path = file
        .to_str()
        .ok_or_else(|| std::io::Error::other("the path is not UTF-8"))?;
    let copied = connection.execute("VACUUM INTO ?1", params![path]);
    if copied.is_err() {
        _ = std::fs::remove_file(file);
    }
    copied?;
    Ok(())
}

impl Core {
    /// Returns unused space of the file to the file system.
    pub(super) fn compact(&mut self) -> Result<(), Fault> {
        self.empty_log()?;
        self.connection.execute_batch("VACUUM")?;
        self.empty_log()
    }
}
