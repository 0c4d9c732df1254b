//! Tests of staged changes: between their append to a file and their commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    Begun, CallState, Durability, Limits, LocalStore, Process, ProcessQuery, ProcessState, Sqlite,
    Store,
};

use crate::damage::copy;
use crate::sqlite::{open, settle};
use crate::values::{call, ended, limits, process};

/// Flips one bit in the first byte of the root page of an index, which has only this page.
fn damage_index(state: &Path, name: &str) {
    let file = state.join("store.db");
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root: usize = rusqlite::Connection::open(&file)
        .unwrap()
        .query_row(root, [name], |row| row.get(0))
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[(root - 1) * 2048] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

/// The lookup of a new call does not read the damaged page, so the call is staged and runs. Its commit fails.
#[tokio::test]
async fn a_call_that_a_damaged_store_does_not_take_never_runs_again() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.begin(call("c", "1")).await.unwrap();
    drop(store);
    damage_index(&state, "calls_kept");
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::New);
    settle(&store);
    assert_eq!(store.counts().damaged, 1);
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::Unknown);
    let found = store.call("c".parse().unwrap(), "2".parse().unwrap()).await;
    assert_eq!(found.unwrap().unwrap().state, CallState::Unknown);
    // From now on, each caller learns whether its call is stored.
    store.begin(call("c", "3")).await.unwrap_err();
    // Closing the store empties the log and the witness.
    drop(store);
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::Unknown);
}

/// Copies the files of a host whose last change is staged. The thread that commits may be faster, so this is tried until it is not.
pub(crate) async fn killed_after(base: &Path, changes: impl AsyncFn(&Sqlite)) -> PathBuf {
    let killed = base.join("killed");
    for round in 0.. {
        let state = base.join(format!("alive-{round}"));
        let store = open(&state, Durability::Host).unwrap();
        changes(&store).await;
        copy(&state, &killed);
        let staged = ["store.staged-0", "store.staged-1"].map(|name| killed.join(name).metadata());
        if staged.into_iter().any(|file| file.unwrap().len() > 0) {
            return killed;
        }
    }
    unreachable!("there are always more rounds")
}

fn over(id: &str) -> Process {
    Process {
        state: ProcessState::Ended,
        ..process(id, "c")
    }
}

/// The database has the process as it started, and its end is staged.
#[tokio::test]
async fn a_recovery_keeps_the_staged_end_of_a_process() {
    let base = tempfile::tempdir().unwrap();
    let killed = killed_after(base.path(), async |store| {
        store.add_process(process("1", "c")).await.unwrap();
        settle(store);
        store.update_processes(vec![over("1")]).await.unwrap();
    });
    let directory = StateDir::open(&killed.await).unwrap();
    Sqlite::recover(&directory, Durability::Host).unwrap();
    let store = Sqlite::open(&directory, Durability::Host).unwrap();
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(processes.found, [over("1")]);
}

/// An update of a process that was forgotten changes nothing, also if the process is then added again.
#[tokio::test]
async fn a_process_that_is_added_after_an_update_is_stored() {
    let base = tempfile::tempdir().unwrap();
    let store = open(&base.path().join("state"), Durability::Host).unwrap();
    store.update_processes(vec![over("1")]).await.unwrap();
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

/// A start can change thousands of processes. To stage them would take longer than one transaction, and other changes would wait.
#[tokio::test]
async fn a_long_list_of_processes_is_not_staged() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    let many = (0..100).map(|id| process(&id.to_string(), "c"));
    store.update_processes(many.collect()).await.unwrap();
    for name in ["store.staged-0", "store.staged-1"] {
        assert_eq!(state.join(name).metadata().unwrap().len(), 0);
    }
}
