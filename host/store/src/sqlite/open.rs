//! Opening a store: checks of its file, and recovery from the end of an earlier host.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use toolhost_state::state_dir::StateDir;

use super::clock::Clock;
use super::core::Core;
use super::fault::Fault;
use super::key::Key;
use super::row::{CallRow, select_calls};
use super::{BUSY, Durability, FILE, at_rest, beside, log_bytes, recover, room, schema, upkeep};

/// The size of a page in bytes.
const PAGE: u16 = 2048;

/// The bytes of the header up to the end of the application id.
const HEADER: usize = 72;

/// The pages of the log after which SQLite moves it into the file: 16 MiB. The log then begins anew, in the same blocks.
const LOG: i64 = 8192;

/// Opens the file and resumes where the earlier host ended.
pub(super) fn open(directory: &StateDir, durability: Durability) -> Result<Core, Fault> {
    let path = directory.path().join(FILE);
    if !is_there(directory, &path)? && directory.open_file(FILE)?.is_none() {
        directory.create_file(FILE)?;
    }
    open_file(directory, durability)
}

/// Does what [`open`] does with a file that exists. It may be empty, and the one of a recovery that is under way.
pub(super) fn open_file(directory: &StateDir, durability: Durability) -> Result<Core, Fault> {
    let path = directory.path().join(FILE);
    let connection = connect(&path, durability)?;
    schema::verify(&connection, schema::STEPS)?;
    // The log of a host that was killed keeps its blocks, which a full disk would not give back.
    let mut core = resume(connection, path)?;
    core.save_clock()?;
    Ok(core)
}

/// Makes a store in memory, with a copy of the records of this file.
pub(super) fn open_in_memory(file: Option<&Path>) -> Result<Core, Fault> {
    let connection = Connection::open_in_memory()?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    enable_stable_plans(&connection)?;
    schema::migrate(&connection, schema::STEPS, |_| Ok(()))?;
    let Some(file) = file else {
        return resume(connection, ":memory:".into());
    };
    match at_rest::copy_if_read_only(file)? {
        Some((_, copy)) => copy_into(&connection, &copy.path().join(FILE))?,
        None => copy_into(&connection, file)?,
    }
    resume(connection, file.to_path_buf())
}

/// Resumes the clock and the numbers of the earlier host.
fn resume(connection: Connection, path: PathBuf) -> Result<Core, Fault> {
    let clock = Clock::open(&connection, || latest(&connection))?;
    let next: Option<i64> =
        connection.query_row("SELECT max(seq) FROM calls", [], |row| row.get(0))?;
    let next = next.unwrap_or_default().saturating_add(1);
    Ok(Core::new(connection, clock, path, next))
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
    let Some(mut file) = directory.open_file(FILE)? else {
        return match log > 0 || room::has_reserve(directory)? {
            true => Err(Fault::Torn(
                "the file is missing, but others of the store exist",
            )),
            false => Ok(false),
        };
    };
    let length = file.metadata()?.len();
    if length == 0 {
        return match log > 0 || room::has_reserve(directory)? {
            true => Err(Fault::Torn(
                "the file is empty, but others of the store are not",
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
    connection.busy_timeout(BUSY)?;
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
    connection.pragma_update(None, "wal_autocheckpoint", LOG)?;
    Ok(connection)
}

/// Makes the plan of a statement independent of its values. Otherwise, SQLite compiles a statement on a table with a partial index
/// again whenever its values change.
pub(super) fn enable_stable_plans(connection: &Connection) -> Result<(), Fault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Returns the latest time among the newest calls whose rows are sound.
fn latest(connection: &Connection) -> rusqlite::Result<i64> {
    let mut newest = connection.prepare(select_calls!("ORDER BY c.seq DESC LIMIT 16"))?;
    let newest = newest.query_map([], CallRow::read)?;
    let sound = newest.filter_map(Result::ok).filter(CallRow::is_sound);
    Ok(sound.map(|row| row.tick).max().unwrap_or_default())
}
