//! Tests of staged changes: between their append to a file and their commit.

use std::path::Path;

use toolhost_store::{Begun, CallState, Durability, Store};

use crate::sqlite::{open, settle};
use crate::values::call;

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
