//! Tests of SQLite: the suite, versions of the file, and the clock.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    Begun, CallState, Durability, Limits, LocalStore, Process, ProcessQuery, ProcessState, Sqlite,
    Store, StoreError,
};

use crate::suite::{self, Place};
use crate::values::{call, ended, limits, process};

struct Directory(tempfile::TempDir, Durability);

impl Place for Directory {
    fn open(&self) -> BoxFuture<'_, Box<dyn Store>> {
        let opened = open(&self.0.path().join("state"), self.1);
        Box::pin(async { Box::new(opened.unwrap()) as Box<dyn Store> })
    }

    fn kill(&self, store: Box<dyn Store>) -> BoxFuture<'_, ()> {
        drop(store);
        Box::pin(async {})
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

/// The start of a process is such work, because the process is stored before it runs. If a commit needed another of the runtime's
/// threads for blocking work, the test would hang.
#[test]
fn blocking_work_may_wait_for_changes() {
    let base = tempfile::tempdir().unwrap();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    for durability in [Durability::Host, Durability::Power] {
        let store = open(&base.path().join(format!("{durability:?}")), durability).unwrap();
        let handle = runtime.handle().clone();
        let begun =
            runtime.spawn_blocking(move || handle.block_on(store.begin(call("c", "1"))).unwrap());
        assert_eq!(runtime.block_on(begun).unwrap(), Begun::New);
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
    let file = crate::file::file(&state).unwrap();
    file.backup(&copy.join("store.db")).unwrap();
    drop(file);
    // Closing the store empties the log.
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
    fn open(&self) -> BoxFuture<'_, Box<dyn Store>> {
        Box::pin(async { Box::new(Sqlite::in_memory().unwrap()) as Box<dyn Store> })
    }

    fn kill(&self, store: Box<dyn Store>) -> BoxFuture<'_, ()> {
        drop(store);
        Box::pin(async {})
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_memory_passes_the_suite() {
    suite::of_one_host(|| Box::new(Memory)).await;
}

/// Lists all processes by their ids.
async fn ids(store: &Sqlite) -> (Vec<String>, u64) {
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    let ids = processes.found.into_iter().map(|process| process.id);
    (ids.collect(), processes.damaged)
}

#[tokio::test]
async fn a_damaged_process_hides_no_other() {
    let changes = [
        "UPDATE processes SET body = '{' WHERE id = '2'",
        "UPDATE processes SET body = replace(body, 'sleep', 'sleeq') WHERE id = '2'",
        "UPDATE processes SET body = x'00' WHERE id = '2'",
        "UPDATE processes SET chat = 'other' WHERE id = '2'",
        "UPDATE processes SET key = NULL WHERE id = '2'",
        "UPDATE processes SET live = 0 WHERE id = '2'",
        "UPDATE processes SET id = 'other' WHERE id = '2'",
    ];
    for change in changes {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("state");
        let store = open(&state, Durability::Host).unwrap();
        for id in ["1", "2", "3"] {
            store.add_process(process(id, "c")).await.unwrap();
        }
        drop(store);
        database(&state).execute_batch(change).unwrap();
        let store = open(&state, Durability::Host).unwrap();
        let sound = vec!["1".to_owned(), "3".to_owned()];
        assert_eq!(ids(&store).await, (sound, 1), "{change}");
        assert_eq!(store.counts().damaged, 1, "{change}");
        let problems = crate::file::file(&state).unwrap().check().unwrap();
        assert!(
            problems[0].contains("process cannot be read"),
            "{problems:?}"
        );
        // A process that starts under the id takes its place.
        store.add_process(process("2", "c")).await.unwrap();
        let (found, _) = ids(&store).await;
        assert_eq!(found, ["1", "3", "2"], "{change}");
    }
}

/// A page of the table is zeroed. The processes on the pages before it are found, and the recovery reports that it is incomplete.
#[tokio::test]
async fn a_damaged_page_of_processes_is_told() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    for number in 0..100 {
        let process = process(&number.to_string(), "c");
        store.add_process(process).await.unwrap();
    }
    drop(store);
    let last: usize = database(&state)
        .query_row(
            "SELECT max(pageno) FROM dbstat WHERE name = 'processes' AND pagetype = 'leaf'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let file = state.join("store.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[(last - 1) * 2048..last * 2048].fill(0);
    std::fs::write(&file, bytes).unwrap();
    let store = open(&state, Durability::Host).unwrap();
    let (found, damaged) = ids(&store).await;
    assert!((1..100).contains(&found.len()) && damaged == 1);
    drop(store);
    let directory = StateDir::open(&state).unwrap();
    let recovered = Sqlite::recover(&directory, Durability::Host).unwrap();
    assert!(!recovered.is_complete);
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(ids(&store).await, (found, 0));
}

/// An update of a process that was forgotten changes nothing, also if the process is then added again.
#[tokio::test]
async fn a_process_that_is_added_after_an_update_is_stored() {
    let base = tempfile::tempdir().unwrap();
    let store = open(&base.path().join("state"), Durability::Host).unwrap();
    store
        .update_processes(vec![Process {
            state: ProcessState::Ended,
            ..process("1", "c")
        }])
        .await
        .unwrap();
    store.add_process(process("1", "c")).await.unwrap();
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(processes.found, [process("1", "c")]);
}

/// A lookup reads two indexes and a row. Meanwhile, a sweep forgets the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_forgotten_during_a_lookup_is_not_damaged() {
    const ROUNDS: usize = 60;
    let base = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&base.path().join("state"), Durability::Host).unwrap());
    let none = Limits {
        keep: Duration::ZERO,
        keep_per_chat: 0,
        tombstone: Duration::ZERO,
        ..limits()
    };
    let forgets = Arc::clone(&store);
    let forget = tokio::spawn(async move {
        for _ in 0..ROUNDS {
            forgets.end(ended("c", "1")).await.unwrap();
            while forgets.sweep(none.clone()).await.unwrap().ids == 0 {}
        }
    });
    while !forget.is_finished() {
        let found = store.call("c".parse().unwrap(), "1".parse().unwrap()).await;
        assert!(
            found
                .unwrap()
                .is_none_or(|call| call.state == CallState::Finished)
        );
    }
    forget.await.unwrap();
    assert_eq!(store.counts().damaged, 0);
}
