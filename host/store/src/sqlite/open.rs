//! Opening a store, and resuming where the earlier host ended.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use toolhost_state::state_dir::StateDir;

use super::clock::Clock;
use super::core::Core;
use super::fault::Fault;
use super::present::{PAGE, is_there};
use super::row::{CallRow, select_calls};
use super::{BUSY, Durability, FILE, at_rest, beside, schema, upkeep};

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
    const TABLES: [&str; 9] = [
        "chats",
        "calls",
        "processes",
        "temporaries",
        "sessions",
        "clock",
        "workspaces",
        "bindings",
        "notices",
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
