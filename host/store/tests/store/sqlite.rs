//! SQLite: the suite, versions of the file, and the clock.

use std::path::Path;

use toolhost_state::state_dir::StateDir;
use toolhost_store::{Durability, Sqlite, Store, StoreError};

use crate::suite::{self, Place};
use crate::values::{call, ended, limits};

struct Directory(tempfile::TempDir, Durability);

impl Place for Directory {
    fn open(&self) -> Box<dyn Store> {
        Box::new(open(&self.0.path().join("state"), self.1).unwrap())
    }
}

pub(crate) fn open(path: &Path, durability: Durability) -> Result<Sqlite, StoreError> {
    Sqlite::open(&StateDir::open(path).unwrap(), durability)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_passes() {
    for durability in [Durability::Host, Durability::Power] {
        suite::all(|| Box::new(Directory(tempfile::tempdir().unwrap(), durability))).await;
    }
}

fn database(state: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(state.join("store.db")).unwrap()
}

#[tokio::test]
async fn a_newer_file_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    drop(open(&state, Durability::Host).unwrap());
    database(&state)
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let error = open(&state, Durability::Host).unwrap_err();
    assert!(matches!(error, StoreError::Newer { version: 99, .. }));
    let text = error.to_string();
    assert!(
        text.contains("version 99") && text.contains("--state-dir"),
        "{text}"
    );
}

#[tokio::test]
async fn a_file_of_another_program_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    StateDir::open(&state).unwrap();
    database(&state)
        .execute_batch("CREATE TABLE theirs (a)")
        .unwrap();
    let before = std::fs::read(state.join("store.db")).unwrap();
    assert!(matches!(
        open(&state, Durability::Host).unwrap_err(),
        StoreError::Foreign { .. }
    ));
    assert_eq!(std::fs::read(state.join("store.db")).unwrap(), before);
}

#[tokio::test]
async fn a_changed_schema_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    drop(open(&state, Durability::Host).unwrap());
    database(&state)
        .execute_batch("DROP INDEX calls_key")
        .unwrap();
    let error = open(&state, Durability::Host).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn calls_that_ran_are_found_without_their_log() {
    let base = tempfile::tempdir().unwrap();
    let (state, copy) = (base.path().join("state"), base.path().join("copy"));
    let store = open(&state, Durability::Host).unwrap();
    store.begin(call("c", "1")).await.unwrap();
    StateDir::open(&copy).unwrap();
    let file = crate::file::file(&state, false).unwrap();
    file.backup(&copy.join("store.db")).unwrap();
    drop(file);
    // The log is emptied, and the witness with it.
    drop(store);
    Sqlite::compact(&StateDir::open(&state).unwrap()).unwrap();
    for directory in [&state, &copy] {
        let store = open(directory, Durability::Host).unwrap();
        let interrupted = store.interrupt().await.unwrap();
        assert_eq!(interrupted.len(), 1, "{directory:?}");
    }
}

#[tokio::test]
async fn a_wall_clock_that_jumps_ages_nothing() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    drop(store);
    // The host was stopped a century ago by the wall clock, and a moment ago by the time since the boot. Without a sound checksum, the
    // clock goes on from the newest call.
    database(&state)
        .execute_batch("UPDATE clock SET wall = wall - 3155760000000")
        .unwrap();
    let store = open(&state, Durability::Host).unwrap();
    let one = toolhost_store::Limits {
        keep_per_chat: 0,
        ..limits()
    };
    assert_eq!(store.sweep(one).await.unwrap().outcomes, 0);
}

struct Memory;

impl Place for Memory {
    fn open(&self) -> Box<dyn Store> {
        Box::new(Sqlite::in_memory().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_memory_passes_the_suite() {
    suite::of_one_host(|| Box::new(Memory)).await;
}
