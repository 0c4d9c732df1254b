//! The schema of the database, and migrations from older versions.

use rusqlite::Connection;

use super::fault::Fault;

/// The `application_id` of the file: `tool` in ASCII.
pub(super) const APPLICATION: i32 = 0x746f_6f6c;

/// The migrations, oldest first. The version of a file is the number of migrations that it has.
///
/// Two indexes find a call: one by its name, and one by a digest of its name. A call is new only if neither index has it. Two more
/// indexes serve retention: `calls_kept` has the calls that run or whose outcome is kept, and `calls_gone` has the others. The last one has
/// the calls that run, for the next host. It is the only one that the end of a call changes.
pub(super) const STEPS: &[&str] = &["
CREATE TABLE chats (
    no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, fences INTEGER NOT NULL, ended INTEGER
);
CREATE TABLE calls (
    seq INTEGER PRIMARY KEY, chat INTEGER NOT NULL, call TEXT NOT NULL, key BLOB NOT NULL, principal TEXT NOT NULL,
    tool TEXT NOT NULL, tools TEXT, state INTEGER NOT NULL, cancelled INTEGER NOT NULL, digest BLOB NOT NULL,
    began INTEGER NOT NULL, ended INTEGER, tick INTEGER NOT NULL, held INTEGER NOT NULL, gone INTEGER, sum INTEGER NOT NULL, arguments TEXT, outcome BLOB
);
CREATE UNIQUE INDEX calls_key ON calls (key);
CREATE UNIQUE INDEX calls_name ON calls (chat, call);
CREATE INDEX calls_kept ON calls (chat) WHERE gone IS NULL;
CREATE INDEX calls_gone ON calls (gone, chat) WHERE gone IS NOT NULL;
CREATE TABLE processes (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, chat TEXT, key TEXT, live INTEGER NOT NULL, body TEXT NOT NULL,
    sum INTEGER NOT NULL
);
CREATE INDEX processes_chat ON processes (chat);
CREATE INDEX processes_key ON processes (key) WHERE key IS NOT NULL;
CREATE TABLE temporaries (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, chat TEXT NOT NULL, named INTEGER NOT NULL, principal TEXT NOT NULL, token BLOB NOT NULL,
    revision TEXT NOT NULL, client TEXT NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL,
    sum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE clock (
    one INTEGER PRIMARY KEY, boot TEXT NOT NULL, uptime INTEGER NOT NULL, wall INTEGER NOT NULL, clock INTEGER NOT NULL,
    sum INTEGER NOT NULL
);
", "
CREATE TABLE workspaces (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, principal TEXT NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL,
    removed INTEGER, sum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE bindings (chat TEXT PRIMARY KEY, workspace TEXT NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX bindings_workspace ON bindings (workspace);
", "
CREATE INDEX calls_running ON calls (state) WHERE state = 0;
", "
CREATE TABLE notices (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, sum INTEGER NOT NULL);
", "
ALTER TABLE chats ADD COLUMN found TEXT;
"];

/// Upgrades a file to the last of these steps. Before an older file is changed, `copy` is called with its version.
pub(super) fn migrate(
    connection: &Connection,
    steps: &[&str],
    copy: impl FnOnce(i64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let version = version(connection, steps)?;
    match version {
        0 => {}
        version if version == known => return Ok(()),
        older => copy(older)?,
    }
    let taken = usize::try_from(version).unwrap_or(usize::MAX);
    let left = steps.get(taken..).unwrap_or_default().concat();
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {left} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known}; COMMIT;"
    ))?;
    Ok(())
}

/// Returns how many of these steps a file has. Fails if the file has more, or is no store.
fn version(connection: &Connection, steps: &[&str]) -> Result<i64, Fault> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let ours = i64::from(APPLICATION);
    let (application, version) = (
        number(connection, "application_id")?,
        number(connection, "user_version")?,
    );
    let is_empty: bool =
        connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
            row.get(0)
        })?;
    match (application, version) {
        (0, 0) if is_empty => Ok(0),
        (application, version) if application == ours && version > known => {
            Err(Fault::Newer { version, known })
        }
        (application, version) if application == ours && version > 0 => Ok(version),
        _ if verify(connection, steps).is_ok() => Err(Fault::Torn("the header is damaged")),
        _ => Err(Fault::Foreign),
    }
}

/// Fails if the file is older than this program. Only a server upgrades files.
pub(super) fn require_current(connection: &Connection) -> Result<(), Fault> {
    let version = version(connection, STEPS)?;
    if usize::try_from(version) != Ok(STEPS.len()) {
        return Err(Fault::Older { version });
    }
    verify(connection, STEPS)
}

/// Fails if the schema of the file differs from that of these steps, because then the schema is damaged.
pub(super) fn verify(connection: &Connection, steps: &[&str]) -> Result<(), Fault> {
    let expected = Connection::open_in_memory()?;
    expected.execute_batch(&steps.concat())?;
    match texts(connection)? == texts(&expected)? {
        true => Ok(()),
        false => Err(Fault::Torn("the schema is damaged")),
    }
}

/// Returns the name, table and SQL of each item of the schema.
fn texts(connection: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let all = "SELECT name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name";
    let mut all = connection.prepare(all)?;
    let all = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    all.collect()
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_file_is_copied_and_brought_up_to_date() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &["CREATE TABLE a (x);"], |_| {
            panic!("there is nothing to copy")
        })
        .unwrap();
        let steps = [
            "CREATE TABLE a (x);",
            "CREATE TABLE b (y);",
            "CREATE INDEX c ON b (y);",
        ];
        let mut copied = None;
        let copy = |version| {
            copied = Some(version);
            Ok(())
        };
        migrate(&connection, &steps, copy).unwrap();
        assert_eq!(copied, Some(1));
        verify(&connection, &steps).unwrap();
        assert_eq!(number(&connection, "user_version").unwrap(), 3);
        migrate(&connection, &steps, |_| panic!("it is up to date")).unwrap();
        let newer = migrate(&connection, &steps[..2], |_| panic!("it is newer"));
        assert!(matches!(
            newer,
            Err(Fault::Newer {
                version: 3,
                known: 2
            })
        ));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &["CREATE TABLE a (x);"], |_| Ok(())).unwrap();
        let steps = [
            "CREATE TABLE a (x);",
            "CREATE TABLE b (y); CREATE TABLE a (x);",
        ];
        migrate(&connection, &steps, |_| Ok(())).unwrap_err();
        _ = connection.execute_batch("ROLLBACK");
        verify(&connection, &steps[..1]).unwrap();
        let no_copy = || Err(Fault::Io(std::io::Error::other("the disk is full")));
        migrate(
            &connection,
            &["CREATE TABLE a (x);", "CREATE TABLE b (y);"],
            |_| no_copy(),
        )
        .unwrap_err();
        assert_eq!(number(&connection, "user_version").unwrap(), 1);
    }
}
