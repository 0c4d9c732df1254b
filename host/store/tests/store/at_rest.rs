//! Tests of reading a store that no host uses.

use std::collections::BTreeMap;
use std::path::Path;

use toolhost_needs::needs;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{AtRest, CallQuery, CallState, Durability, Store, StoreError};

use crate::crash::killed;
use crate::disks::Mounted;
use crate::sqlite::open;
use crate::values::{call, ended};

/// Makes the directory of a killed host: one call has ended, and one was running.
async fn leave(to: &Path) {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "ended")).await.unwrap();
    store.begin(call("c", "ran")).await.unwrap();
    StateDir::open(to).unwrap();
    for name in ["store.db", "store.db-wal"] {
        if state.join(name).exists() {
            std::fs::copy(state.join(name), to.join(name)).unwrap();
        }
    }
}

/// Returns the files of a directory with their contents.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap();
    let entries = entries.map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap())
    });
    entries.collect()
}

fn read(state: &Path) -> Vec<(String, CallState)> {
    let directory = StateDir::existing(state).unwrap().unwrap();
    let store = AtRest::open(&directory).unwrap().unwrap();
    let query = CallQuery::of_chat("c".parse().unwrap(), 9);
    let page = store.calls(query.clone()).unwrap();
    let unknown = CallQuery {
        states: Some([CallState::Unknown].into()),
        ..query.clone()
    };
    assert_eq!(store.calls(unknown).unwrap().calls.len(), 1);
    let running = CallQuery {
        states: Some([CallState::Running].into()),
        ..query
    };
    assert_eq!(store.calls(running).unwrap().calls, []);
    let (chat, id) = ("c".parse().unwrap(), "ended".parse().unwrap());
    let found = store.call(&chat, &id).unwrap().unwrap();
    assert_eq!(found.outcome.as_deref(), Some("outcome of ended"));
    let ran = store.call(&chat, &"ran".parse().unwrap()).unwrap().unwrap();
    assert_eq!(ran.state, CallState::Unknown);
    assert_eq!(ran.arguments.as_deref(), Some("{\"command\":\"echo ran\"}"));
    let calls = page.calls.into_iter();
    calls
        .map(|call| (call.call.to_string(), call.state))
        .collect()
}

fn expected() -> Vec<(String, CallState)> {
    vec![
        ("ran".into(), CallState::Unknown),
        ("ended".into(), CallState::Finished),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_changes_no_file() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    leave(&state).await;
    let before = files(&state);
    assert!(!before["store.db-wal"].is_empty());
    assert_eq!(read(&state), expected());
    assert!(files(&state) == before);
    // The next host finds the interrupted call, and closes the store. After that, the store has no log.
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.interrupt().await.unwrap().len(), 1);
    drop(store);
    let before = files(&state);
    assert!(!before.contains_key("store.db-wal"));
    assert_eq!(read(&state), expected());
    assert!(files(&state) == before);
}

/// A killed host leaves changes that only the log has.
#[test]
fn the_log_of_a_killed_host_is_read() {
    let base = tempfile::tempdir().unwrap();
    let (state, said) = killed(base.path(), 200);
    let before = files(&state);
    let directory = StateDir::existing(&state).unwrap().unwrap();
    let store = AtRest::open(&directory).unwrap().unwrap();
    // The harness of the writer prints lines of its own.
    let is_said = |line: &&String| line.starts_with("began ") || line.starts_with("ended ");
    for line in said.iter().filter(is_said) {
        let (what, number) = line.split_once(' ').unwrap();
        let chat = format!("chat-{}", number.parse::<usize>().unwrap() % 7);
        let found = store.call(&chat.parse().unwrap(), &number.parse().unwrap());
        let found = found.unwrap().unwrap_or_else(|| panic!("{line}"));
        if what == "ended" {
            let outcome = format!("outcome of {number}");
            assert_eq!(found.outcome, Some(outcome));
        }
    }
    drop(store);
    assert!(files(&state) == before);
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_file_system_is_read() {
    let disk = Mounted::new();
    leave(disk.path()).await;
    disk.mount(&["-o", "remount,ro"]);
    assert_eq!(read(disk.path()), expected());
    disk.mount(&["-o", "remount,rw"]);
    drop(open(disk.path(), Durability::Host).unwrap());
    disk.mount(&["-o", "remount,ro"]);
    let directory = StateDir::existing(disk.path()).unwrap().unwrap();
    assert!(AtRest::open(&directory).unwrap().is_some());
}

#[tokio::test]
async fn what_is_no_store_is_told() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    assert!(AtRest::open(&directory).unwrap().is_none());
    assert_eq!(files(directory.path()).len(), 0);
    let file = directory.path().join("store.db");
    let others = |statement: &str| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(statement).unwrap();
    };
    others("CREATE TABLE theirs (a)");
    let error = AtRest::open(&directory).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    std::fs::write(&file, "no database at all").unwrap();
    let error = AtRest::open(&directory).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    std::fs::remove_file(&file).unwrap();
    drop(open(directory.path(), Durability::Host).unwrap());
    others("PRAGMA user_version = 99");
    let error = AtRest::open(&directory).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error:?}");
}
