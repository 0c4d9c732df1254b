//! Opening a store: checks of its file, and recovery from the end of an earlier host.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use toolhost_state::state_dir::StateDir;

use super::clock::Clock;
use super::core::Core;
use super::fault::Fault;
use super::row::{CallRow, select_calls, state_number};
use super::stage_file::{self, Staged};
use super::staging::Staging;
use super::witness::{Key, Testimony, Witness};
use super::writer::BATCH;
use super::{Durability, FILE, at_rest, beside, log_bytes, readers, recover, schema, upkeep};
use crate::CallState;

/// The size of a page in bytes.
const PAGE: u16 = 2048;

/// The bytes of the header up to the end of the application id.
const HEADER: usize = 72;

/// Opens the file and resumes where the earlier host ended.
pub(super) fn open(
    directory: &StateDir,
    durability: Durability,
    full: SyncSender<()>,
) -> Result<Core, Fault> {
    let path = directory.path().join(FILE);
    if !is_there(directory, &path)? && directory.open_file(FILE)?.is_none() {
        directory.create_file(FILE)?;
    }
    open_file(directory, durability, full)
}

/// Does what [`open`] does with a file that exists. It may be empty, and the one of a recovery that is under way.
pub(super) fn open_file(
    directory: &StateDir,
    durability: Durability,
    full: SyncSender<()>,
) -> Result<Core, Fault> {
    let path = directory.path().join(FILE);
    let log = log_bytes(&path);
    let connection = connect(&path, durability)?;
    schema::verify(&connection, schema::STEPS)?;
    let (witness, testimony) = Witness::open(directory)?;
    if testimony.emptying && log > 0 {
        // The host was killed while it moved the log into the file. If the log has lost its end since then, the file mixes old and new
        // pages.
        quick_check(&connection)?;
    }
    let staged = Staged::read(directory)?;
    let mut core = resume(connection, (witness, &testimony), path, full, &staged)?;
    core.begun = match testimony.is_whole {
        true => Some(add_last_calls(&core, testimony.keys)?),
        false => None,
    };
    core.empty_log()?;
    staged.remove(directory)?;
    Ok(core)
}

impl Core {
    /// Stages changes from now on, if they need not survive the end of the machine. If the disk takes no file for that, each change is
    /// committed at once.
    pub(super) fn stage_changes(&mut self, directory: &StateDir, durability: Durability) {
        if durability == Durability::Power {
            return;
        }
        let staging = readers::open(&self.path).and_then(|reader| {
            let (witness, known) = (Arc::clone(&self.witness), Arc::clone(&self.known));
            let shared = (witness, known, self.clock.clone());
            Ok(Staging::open(directory, reader, shared)?)
        });
        match staging {
            Ok(staging) => self.staging = Some(Arc::new(Mutex::new(staging))),
            Err(fault) => tracing::warn!(
                ?fault,
                "each change of the store is committed at once, which is slower"
            ),
        }
    }
}

/// Makes a store in memory, with a copy of the records in the file of this directory.
pub(super) fn open_in_memory(
    directory: Option<&StateDir>,
    full: SyncSender<()>,
) -> Result<Core, Fault> {
    let connection = Connection::open_in_memory()?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    enable_stable_plans(&connection)?;
    schema::migrate(&connection, schema::STEPS, |_| Ok(()))?;
    let (mut testimony, mut staged) = (Testimony::default(), Staged::default());
    let mut witness = Witness::none();
    if let Some(directory) = directory {
        (witness, testimony) = Witness::open_for_notes(directory)?;
        staged = Staged::read(directory)?;
        let mut path = directory.path().join(FILE);
        let copy = at_rest::copy_if_read_only(&path)?;
        if let Some((_, copy)) = &copy {
            path = copy.path().join(FILE);
        }
        copy_into(&connection, &path)?;
    }
    resume(
        connection,
        (witness, &testimony),
        ":memory:".into(),
        full,
        &staged,
    )
}

/// Resumes the clock and the numbers of the earlier host, and adds the changes that it staged and the calls that only its witness names.
pub(super) fn resume(
    connection: Connection,
    (witness, testimony): (Witness, &Testimony),
    path: PathBuf,
    full: SyncSender<()>,
    staged: &Staged,
) -> Result<Core, Fault> {
    let clock = Clock::open(&connection, || latest(&connection))?;
    let next: Option<i64> =
        connection.query_row("SELECT max(seq) FROM calls", [], |row| row.get(0))?;
    let next = next.unwrap_or_default().saturating_add(1);
    let mut core = Core::new(connection, (witness, clock), path, next, full);
    core.replay(staged)?;
    add_lost(&mut core, testimony)?;
    Ok(core)
}

/// Copies all rows of a file on a disk that cannot be written. SQLite cannot even create the shared-memory file of the log there.
fn copy_into(connection: &Connection, path: &Path) -> Result<(), Fault> {
    const TABLES: [&str; 8] = [
        "chats",
        "calls",
        "processes",
        "temporaries",
        "sessions",
        "clock",
        "workspaces",
        "bindings",
    ];
    let path = path
        .to_str()
        .ok_or_else(|| std::io::Error::other("the path is not UTF-8"))?;
    // This must come before the first read, or SQLite would create the shared-memory file.
    connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    connection.execute("ATTACH ?1 AS disk", [path])?;
    let version: i64 = connection.query_row("PRAGMA disk.user_version", [], |row| row.get(0))?;
    if usize::try_from(version) != Ok(schema::STEPS.len()) {
        return Err(Fault::Torn("the file has another version"));
    }
    for table in TABLES {
        connection.execute(
            &format!("INSERT INTO main.{table} SELECT * FROM disk.{table}"),
            [],
        )?;
    }
    connection.execute_batch("DETACH disk")?;
    Ok(())
}

/// Returns whether there is a file with a store. Fails if the file is damaged in a way that SQLite would take for an empty or a
/// shorter store, or if a recovery was interrupted.
pub(super) fn is_there(directory: &StateDir, path: &Path) -> Result<bool, Fault> {
    if recover::interrupted(directory)?.is_some() {
        return Err(Fault::Torn("its recovery was interrupted"));
    }
    let log = log_bytes(path);
    let is_left = || -> std::io::Result<bool> {
        Ok(log > 0 || Witness::is_there(directory)? || stage_file::are_there(directory)?)
    };
    let Some(mut file) = directory.open_file(FILE)? else {
        return match is_left()? {
            true => Err(Fault::Torn(
                "the file is missing, but its witness, its log or staged changes exist",
            )),
            false => Ok(false),
        };
    };
    let length = file.metadata()?.len();
    if length == 0 {
        return match is_left()? {
            true => Err(Fault::Torn(
                "the file is empty, but its witness, its log or staged changes are not",
            )),
            false => Ok(false),
        };
    }
    let mut header = [0; HEADER];
    std::io::Read::read_exact(&mut file, &mut header)
        .map_err(|_| Fault::Torn("the file ends in its header"))?;
    // The magic string, and the sizes with which SQLite reads the rest. Version 2 stands for a write-ahead log, and version 1 for a
    // file that has none yet, such as a backup.
    let sound = |version| {
        let [high, low] = PAGE.to_be_bytes();
        let sizes = [high, low, version, version, 0, 64, 32, 32];
        header.starts_with(b"SQLite format 3\0") && header.get(16..24) == Some(sizes.as_slice())
    };
    if !sound(1) && !sound(2) {
        return Err(match header.ends_with(&schema::APPLICATION.to_be_bytes()) {
            true => Fault::Torn("the header is damaged"),
            false => Fault::Foreign,
        });
    }
    if sound(1) && log > 0 {
        return Err(Fault::ForeignLog);
    }
    if log == 0 && length % u64::from(PAGE) != 0 {
        return Err(Fault::Torn("the file ends within a page"));
    }
    Ok(true)
}

/// Returns whether the store has a call with this key.
pub(super) fn is_known(connection: &Connection, key: &Key) -> rusqlite::Result<bool> {
    let mut known = connection.prepare_cached("SELECT 1 FROM calls WHERE key = ?1")?;
    Ok(known.query_row([key], |_| Ok(())).optional()?.is_some())
}

/// Opens the connection that writes, with the latest schema.
fn connect(path: &Path, durability: Durability) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(super::PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "page_size", PAGE)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    enable_stable_plans(&connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -8192)?;
    schema::migrate(&connection, schema::STEPS, |version| {
        upkeep::copy(&connection, &beside(path, &format!(".version-{version}")))
    })?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Io(std::io::Error::other(
            "its file system does not support shared memory, which a write-ahead log needs",
        )));
    }
    let synchronous = match durability {
        Durability::Host => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

/// Makes the plan of a statement independent of its values. Otherwise, SQLite compiles a statement on a table with a partial index
/// again whenever its values change.
pub(super) fn enable_stable_plans(connection: &Connection) -> Result<(), Fault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn quick_check(connection: &Connection) -> Result<(), Fault> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match found == "ok" {
        true => Ok(()),
        false => Err(Fault::Torn("pages of the file contradict each other")),
    }
}

/// Stores each call that the witness names and the database lacks as an unknown call.
fn add_lost(core: &mut Core, testimony: &Testimony) -> Result<(), Fault> {
    let lost = core.transact(|core| {
        let mut lost = 0_u64;
        for key in &testimony.keys {
            if !is_known(&core.connection, key)? {
                core.lose(*key)?;
                lost += 1;
            }
        }
        Ok(lost)
    })?;
    if lost > 0 {
        core.metrics
            .damaged
            .fetch_add(lost, std::sync::atomic::Ordering::Relaxed);
        tracing::error!(lost, path = %core.path.display(), "the store does not have calls that had begun, because it lost them or its disk took no records: repeats of these calls are refused as unknown");
    }
    Ok(())
}

/// Adds the last calls of the table that are stored as running to the keys that the witness names. If the host was killed between
/// a commit and its record in the witness, the witness does not name the calls of that commit. They are the last of the table, except
/// for the calls that [`add_lost`] has added.
fn add_last_calls(core: &Core, mut keys: Vec<Key>) -> Result<Vec<Key>, Fault> {
    let most = i64::try_from(BATCH + keys.len()).unwrap_or(i64::MAX);
    let mut last = core
        .connection
        .prepare("SELECT key FROM calls WHERE seq >= ?1 AND state = ?2")?;
    let last = last.query_map(
        params![core.next - most, state_number(CallState::Running)],
        |row| row.get(0),
    )?;
    let named: HashSet<Key> = keys.iter().copied().collect();
    for key in last {
        let key = key?;
        if !named.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Returns the latest time among the newest calls whose rows are sound.
fn latest(connection: &Connection) -> rusqlite::Result<i64> {
    let mut newest = connection.prepare(select_calls!("ORDER BY c.seq DESC LIMIT 16"))?;
    let newest = newest.query_map([], CallRow::read)?;
    let sound = newest.filter_map(Result::ok).filter(CallRow::is_sound);
    Ok(sound.map(|row| row.tick).max().unwrap_or_default())
}
