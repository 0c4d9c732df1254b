//! Recovery: setting a damaged store aside, and copying its readable records into a new one.
//!
//! Each call has a row in the table and a key in an index. If one page is damaged, the call is still in the other. A call of which only
//! the key can be read becomes unknown, and does not run again.
//!
//! A mark says that a recovery is under way. While the mark exists, no store is opened. If the recovery was killed, the next one first
//! gives the files of the damaged store their names back.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use toolhost_state::state_dir::StateDir;

use super::core::Core;
use super::fault::Fault;
use super::key::{Key, key};
use super::present::{MARK, interrupted};
use super::row::{CallRow, is_known, select_calls};
use super::{Durability, FILE, clock, notice_row, open, records, session_row, workspace_row};
use crate::{CallState, ProcessQuery};

/// The result of a recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The path of the damaged file, which is unchanged.
    pub aside: PathBuf,
    /// How many calls were recovered with their rows.
    pub calls: u64,
    /// How many calls are unknown, because only their ids were recovered.
    pub unknown: u64,
    /// Whether all processes, temporary files, sessions and workspaces were recovered.
    pub is_complete: bool,
}

/// The files of a store. It has a journal only while it is created. The database is the last that is set aside: once it is, every file
/// with one of these names belongs to the new store.
const FILES: [&str; 4] = ["store.db-journal", "store.db-wal", "store.db-shm", FILE];

/// The prefix of the names of files that were set aside.
const ASIDE: &str = "store.damaged-";

/// Returns whether a directory has a store that was set aside.
pub(super) fn has_set_aside(directory: &StateDir) -> std::io::Result<bool> {
    let is_aside = |name: &str| name.starts_with(ASIDE) && name.ends_with(".db");
    let mut entries = directory.entries()?.into_iter();
    Ok(entries.any(|entry| is_aside(&entry.name)))
}

/// Returns the name of a file of a store that was set aside at this time.
fn aside(name: &str, time: &str) -> String {
    name.replacen("store.", &format!("{ASIDE}{time}."), 1)
}

/// Sets the store aside and makes a new one from the records that can be read.
pub(super) fn recover(directory: &StateDir, durability: Durability) -> Result<Recovered, Fault> {
    if let Some(time) = interrupted(directory)? {
        undo(directory, &time)?;
    }
    if directory.inode(FILE)?.is_none() {
        return Err(Fault::Torn("the file is missing"));
    }
    let time = clock::wall().to_string();
    let mark = format!("{MARK}{time}");
    directory.create_file(&mark)?;
    for name in FILES {
        if directory.inode(name)?.is_some() {
            directory.rename_file(name, &aside(name, &time))?;
        }
    }
    let path = directory.path().join(aside(FILE, &time));
    let recovered = rebuild(directory, durability, &path);
    match recovered.is_ok() {
        true => directory.remove(&mark)?,
        false => undo(directory, &time)?,
    }
    recovered
}

/// Removes the new store, and gives the files of the damaged one their names back. Each step can be repeated.
fn undo(directory: &StateDir, time: &str) -> std::io::Result<()> {
    let is_aside = |name| Ok::<_, std::io::Error>(directory.inode(&aside(name, time))?.is_some());
    if is_aside(FILE)? {
        for name in FILES {
            directory.remove(name)?;
        }
        directory.rename_file(&aside(FILE, time), FILE)?;
    }
    for name in FILES {
        if is_aside(name)? {
            directory.rename_file(&aside(name, time), name)?;
        }
    }
    directory.remove(&format!("{MARK}{time}"))
}

/// Makes a new store from the one at `aside`.
fn rebuild(
    directory: &StateDir,
    durability: Durability,
    aside: &std::path::Path,
) -> Result<Recovered, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let old = Connection::open_with_flags(aside, flags)?;
    old.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    old.pragma_update(None, "wal_autocheckpoint", 0)?;
    old.pragma_update(None, "cell_size_check", true)?;
    directory.create_file(FILE)?;
    let mut core = open::open_file(directory, durability)?;
    core.next = newest(&old)?.saturating_add(1);
    let mut recovered = Recovered {
        aside: aside.to_path_buf(),
        calls: 0,
        unknown: 0,
        is_complete: true,
    };
    let last = u64::try_from(core.next).unwrap_or_default();
    core.transact(|core| {
        let rows_lost = read_in_halves(1..=last, &mut |range| {
            copy_calls(&old, core, &mut recovered, range)
        })?;
        let keys = match read_keys(&old) {
            Err(fault) if rows_lost || !fault.is_damage() => return Err(fault),
            keys => keys.unwrap_or_default(),
        };
        recovered.is_complete = copy_rest(&old, core)?;
        for key in &keys {
            if !is_known(&core.connection, key)? {
                core.lose(*key)?;
                recovered.unknown += 1;
            }
        }
        Ok(())
    })?;
    core.empty_log()?;
    Ok(recovered)
}

/// Returns the number of the newest call: the median of the answers of the table and two indexes.
fn newest(old: &Connection) -> Result<i64, Fault> {
    let sources = [
        "calls NOT INDEXED",
        "calls INDEXED BY calls_name",
        "calls INDEXED BY calls_key",
    ];
    let answers = sources.map(|source| {
        old.query_row(
            &format!("SELECT ifnull(max(seq), 0) FROM {source}"),
            [],
            |row| row.get::<_, i64>(0),
        )
        .ok()
    });
    let mut answers: Vec<_> = answers.into_iter().flatten().collect();
    answers.sort_unstable();
    // If one of three answers is wrong, the median is still right.
    answers
        .get(answers.len() / 2)
        .copied()
        .ok_or(Fault::Torn("no call can be read"))
}

/// Reads a range of calls. If the range cannot be read, reads each half of it in the same way. Returns whether some calls are lost.
fn read_in_halves(
    range: RangeInclusive<u64>,
    one: &mut impl FnMut(RangeInclusive<u64>) -> Result<bool, Fault>,
) -> Result<bool, Fault> {
    let (first, last) = (*range.start(), *range.end());
    match one(range) {
        Err(fault) if !fault.is_damage() => Err(fault),
        Ok(is_lost) => Ok(is_lost),
        Err(_) if last <= first => Ok(true),
        Err(_) => {
            let middle = first + (last - first) / 2;
            let low = read_in_halves(first..=middle, one)?;
            Ok(read_in_halves(middle + 1..=last, one)? || low)
        }
    }
}

/// Copies the calls with these numbers. Returns whether one of them is damaged.
fn copy_calls(
    old: &Connection,
    core: &mut Core,
    recovered: &mut Recovered,
    range: RangeInclusive<u64>,
) -> Result<bool, Fault> {
    let mut rows = old.prepare_cached(select_calls!("WHERE c.seq BETWEEN ?1 AND ?2"))?;
    let rows: Vec<_> = match range.end() - range.start() > 4096 {
        // A large range does not fit in memory. This error makes `read_in_halves` split it.
        true => return Err(Fault::Torn("the range is large")),
        false => rows
            .query_map([range.start(), range.end()], CallRow::read)?
            .collect::<Result<_, _>>()?,
    };
    let mut is_lost = false;
    for mut row in rows {
        let name = row.name.clone().unwrap_or_default();
        let fits = row.chat == 0 || key(&name, &row.call) == row.key;
        if !row.is_sound() || !fits {
            is_lost = true;
            continue;
        }
        if let Ok(chat) = name.parse() {
            (row.chat, _) = core.chat(&chat, &row.principal)?;
            core.count_fences(row.chat, i64::from(row.state == CallState::Tombstone))?;
        }
        core.copy(row)?;
        recovered.calls += 1;
    }
    Ok(is_lost)
}

/// Returns the keys of all calls.
fn read_keys(old: &Connection) -> Result<Vec<Key>, Fault> {
    let mut keys = old.prepare("SELECT key FROM calls INDEXED BY calls_key")?;
    let keys = keys.query_map([], |row| row.get(0))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}

/// Copies the processes, temporary files, sessions, notices and workspaces that can be read. Returns whether all could be read.
fn copy_rest(old: &Connection, core: &mut Core) -> Result<bool, Fault> {
    let processes = records::processes(old, &ProcessQuery::all());
    let temporaries = records::temporaries(old);
    let sessions = session_row::all(old);
    let notices = notice_row::all(old);
    let workspaces = workspace_row::all(old);
    let is_complete = temporaries.is_ok()
        && workspaces
            .as_ref()
            .is_ok_and(|(_, faults)| faults.is_empty())
        && sessions.as_ref().is_ok_and(|(_, faults)| faults.is_empty())
        && notices.as_ref().is_ok_and(|(_, faults)| faults.is_empty())
        && processes
            .as_ref()
            .is_ok_and(|(_, faults)| faults.is_empty());
    for process in processes.unwrap_or_default().0.found {
        core.add_process(&process)?;
    }
    for path in temporaries.unwrap_or_default() {
        core.add_temporary(&path, &[])?;
    }
    for session in sessions.unwrap_or_default().0 {
        core.put_session(&session)?;
    }
    for notice in notices.unwrap_or_default().0 {
        core.put_notice(&notice)?;
    }
    let workspaces = workspaces.unwrap_or_default().0;
    for workspace in &workspaces.found {
        core.put_workspace(workspace)?;
    }
    for binding in &workspaces.bindings {
        core.bind(binding)?;
    }
    Ok(is_complete)
}
