//! Tests of the operations for operators on the file of a store, while a host uses it and at rest.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use toolhost_state::state_dir::StateDir;
use toolhost_store::{Begun, Durability, LocalStore, Sqlite, Store, StoreError, StoreFile};

use crate::crash::killed;
use crate::sqlite::open;
use crate::values::{call, ended, process, session};

pub(crate) fn file(state: &Path) -> Result<StoreFile, StoreError> {
    let opened = StoreFile::open(&StateDir::open(state).unwrap());
    opened.map(|file| file.expect("there is a store"))
}

/// Returns the problems of a store that no host uses.
pub(crate) fn problems(state: &Path) -> Vec<String> {
    file(state).unwrap().check().unwrap()
}

/// A store in which a call has ended and another runs.
async fn filled(state: &Path) -> Sqlite {
    let store = open(state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::New);
    store
}

#[tokio::test]
async fn a_host_is_read_while_it_works() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = filled(&state).await;
    store.add_process(process("p", "c")).await.unwrap();
    store.put_session(session("s")).await.unwrap();
    store
        .add_temporary("/tmp/a".into(), Vec::new())
        .await
        .unwrap();
    let file = file(&state).unwrap();
    assert_eq!(file.check().unwrap(), [""; 0]);
    let mut text = Vec::new();
    file.export(&mut text).unwrap();
    let lines: Vec<serde_json::Value> = text
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert_eq!(lines[1]["call"]["outcome"], "outcome of 1");
    let session = lines.iter().find_map(|line| line.get("session")).unwrap();
    assert_eq!((&session["id"], session.get("token")), (&"s".into(), None));
    // It goes on.
    store.end(ended("c", "2")).await.unwrap();
}

#[tokio::test]
async fn a_backup_is_a_store_as_it_was() {
    let base = tempfile::tempdir().unwrap();
    let (state, other) = (base.path().join("state"), base.path().join("other"));
    let store = filled(&state).await;
    StateDir::open(&other).unwrap();
    let copy = other.join("store.db");
    file(&state).unwrap().backup(&copy).unwrap();
    let mode = copy.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
    let before = std::fs::read(&copy).unwrap();
    file(&state).unwrap().backup(&copy).unwrap_err();
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    store.begin(call("c", "3")).await.unwrap();
    std::mem::forget(store);

    let copied = open(&other, Durability::Host).unwrap();
    assert!(matches!(
        copied.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
    assert_eq!(copied.begin(call("c", "2")).await.unwrap(), Begun::Running);
    assert_eq!(copied.begin(call("c", "3")).await.unwrap(), Begun::New);
}

/// A killed host leaves changes that only the log has.
#[tokio::test]
async fn a_backup_at_rest_has_what_the_log_has() {
    let base = tempfile::tempdir().unwrap();
    let (state, said) = killed(base.path(), 150);
    assert_eq!(problems(&state), [""; 0]);
    let other = base.path().join("other");
    StateDir::open(&other).unwrap();
    let copy = other.join("store.db");
    file(&state).unwrap().backup(&copy).unwrap();
    let store = open(&other, Durability::Host).unwrap();
    for number in said.iter().filter_map(|line| line.strip_prefix("began ")) {
        let chat = format!("chat-{}", number.parse::<usize>().unwrap() % 7);
        let begun = store.begin(call(&chat, number)).await.unwrap();
        assert_ne!(begun, Begun::New, "{number}");
    }
}

/// The log of the replaced files would change pages of the backup.
#[tokio::test]
async fn a_backup_beside_the_log_of_another_store_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let (alive, backup) = (base.path().join("alive"), base.path().join("backup"));
    let store = filled(&alive).await;
    file(&alive).unwrap().backup(&backup).unwrap();
    store.begin(call("c", "3")).await.unwrap();
    // A killed host leaves the files as they are at that moment.
    let state = base.path().join("state");
    crate::damage::copy(&alive, &state);
    std::fs::copy(&backup, state.join("store.db")).unwrap();
    let error = open(&state, Durability::Host).unwrap_err();
    assert!(matches!(error, StoreError::ForeignLog { .. }), "{error:?}");
    for log in ["store.db-wal", "store.db-shm"] {
        std::fs::remove_file(state.join(log)).unwrap();
    }
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
}

#[tokio::test]
async fn a_damaged_file_is_neither_copied_nor_compacted() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    drop(filled(&state).await);
    let database = rusqlite::Connection::open(state.join("store.db")).unwrap();
    database
        .execute_batch("UPDATE calls SET sum = sum + 1")
        .unwrap();
    drop(database);
    assert_eq!(problems(&state).len(), 2);
    let before = std::fs::read(state.join("store.db")).unwrap();
    let copy = base.path().join("copy");
    let refused = file(&state).unwrap().backup(&copy).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    let refused = Sqlite::compact(&StateDir::open(&state).unwrap()).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    assert!(!copy.exists() && problems(&state).len() == 2);
    assert_eq!(
        std::fs::read(state.join("store.db")).unwrap().len(),
        before.len()
    );
}

#[tokio::test]
async fn a_compact_file_has_the_same_calls() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = filled(&state).await;
    let ids: Vec<_> = (0..500)
        .map(|number| format!("withdrawn-{number}"))
        .collect();
    for id in &ids {
        store.begin(call("c", id)).await.unwrap();
    }
    for id in &ids {
        let (chat, id) = ("c".parse().unwrap(), id.parse().unwrap());
        store.withdraw(chat, id).await.unwrap();
    }
    drop(store);
    let before = file(&state).unwrap().bytes();
    Sqlite::compact(&StateDir::open(&state).unwrap()).unwrap();
    assert!(file(&state).unwrap().bytes() < before);
    assert_eq!(problems(&state), [""; 0]);
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::Running);
}

#[test]
fn there_may_be_no_file() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    assert!(StoreFile::open(&directory).unwrap().is_none());
    assert_eq!(directory.entries().unwrap(), []);
}
