//! Tests of the operations for operators on the file of a store, while a host uses it and at rest.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use toolhost_state::state_dir::StateDir;
use toolhost_store::{Begun, Durability, LocalStore, Sqlite, Store, StoreError, StoreFile};

use crate::crash::killed_with_staged;
use crate::sqlite::{open, settle};
use crate::values::{call, ended, process, session};

pub(crate) fn file(state: &Path, is_at_rest: bool) -> Result<StoreFile, StoreError> {
    let opened = StoreFile::open(&StateDir::open(state).unwrap(), is_at_rest);
    opened.map(|file| file.expect("there is a store"))
}

/// Returns the problems of a store that no host uses.
pub(crate) fn problems(state: &Path) -> Vec<String> {
    file(state, true).unwrap().check().unwrap()
}

/// A store in which a call has ended and another runs.
async fn filled(state: &Path) -> Sqlite {
    let store = open(state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::New);
    settle(&store);
    store
}

#[tokio::test]
async fn a_host_is_read_while_it_works() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = filled(&state).await;
    store.add_process(process("p", "c")).await.unwrap();
    settle(&store);
    store.put_session(session("s")).await.unwrap();
    store
        .add_temporary("/tmp/a".into(), Vec::new())
        .await
        .unwrap();
    let file = file(&state, false).unwrap();
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
    file(&state, false).unwrap().backup(&copy).unwrap();
    let mode = copy.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
    let before = std::fs::read(&copy).unwrap();
    file(&state, false).unwrap().backup(&copy).unwrap_err();
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

/// A killed host also leaves changes that the file lacks.
#[tokio::test]
async fn a_backup_at_rest_has_the_staged_changes() {
    let base = tempfile::tempdir().unwrap();
    let (state, said) = killed_with_staged(base.path(), 150);
    assert_eq!(problems(&state), [""; 0]);
    let other = base.path().join("other");
    StateDir::open(&other).unwrap();
    let copy = other.join("store.db");
    file(&state, true).unwrap().backup(&copy).unwrap();
    let store = open(&other, Durability::Host).unwrap();
    for number in said.iter().filter_map(|line| line.strip_prefix("began ")) {
        let chat = format!("chat-{}", number.parse::<usize>().unwrap() % 7);
        let begun = store.begin(call(&chat, number)).await.unwrap();
        assert_ne!(begun, Begun::New, "{number}");
    }
}

/// When a backup replaces the files of a store, their witness still names the calls that only their log had.
#[tokio::test]
async fn a_backup_beside_its_witness_knows_what_began_later() {
    let base = tempfile::tempdir().unwrap();
    let (alive, backup) = (base.path().join("alive"), base.path().join("backup"));
    let store = filled(&alive).await;
    file(&alive, false).unwrap().backup(&backup).unwrap();
    store.begin(call("c", "3")).await.unwrap();
    settle(&store);
    // A killed host leaves the files as they are at that moment.
    let state = base.path().join("state");
    crate::damage::copy(&alive, &state);
    std::fs::copy(&backup, state.join("store.db")).unwrap();
    // The log of the replaced files would change pages of the backup.
    let error = open(&state, Durability::Host).unwrap_err();
    assert!(matches!(error, StoreError::ForeignLog { .. }), "{error:?}");
    for log in ["store.db-wal", "store.db-shm"] {
        std::fs::remove_file(state.join(log)).unwrap();
    }
    let lost = problems(&state);
    assert_eq!(
        lost,
        ["calls that had begun are lost with the write-ahead log, or did not fit on the disk: 1"]
    );
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
    assert_eq!(store.begin(call("c", "3")).await.unwrap(), Begun::Unknown);
    drop(store);
    assert_eq!(problems(&state), [""; 0]);
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
    let refused = file(&state, true).unwrap().backup(&copy).unwrap_err();
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
    let before = file(&state, true).unwrap().bytes();
    Sqlite::compact(&StateDir::open(&state).unwrap()).unwrap();
    assert!(file(&state, true).unwrap().bytes() < before);
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
    assert!(StoreFile::open(&directory, true).unwrap().is_none());
    assert_eq!(directory.entries().unwrap(), []);
}
