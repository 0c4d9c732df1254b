//! Tests of the state of a host: only one host can open it, and a full disk does not prevent a start.

use toolhost_needs::needs;
use toolhost_state::state_dir::{StateDir, StateDirError};
use toolhost_store::{Begun, Durability, HostState, HostStateError, Outputs, StoreError};

use crate::disks::Mounted;
use crate::values::{call, ended};

#[tokio::test]
async fn the_lock_is_given_back_with_the_last_reference_to_the_store() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    let state = HostState::open(&directory, Durability::Host).unwrap();
    assert_eq!(state.directory(), Some(directory.path()));
    let Outputs::Kept(outputs) = state.outputs() else {
        panic!("{state:?}")
    };
    assert_eq!(outputs.path(), directory.path().join("output"));
    let store = std::sync::Arc::clone(state.store());
    drop(state);
    let second = HostState::open(&directory, Durability::Host).unwrap_err();
    let own = std::process::id();
    assert!(
        matches!(&second, HostStateError::Directory(StateDirError::Locked { pid, .. }) if *pid == Some(own)),
        "{second}"
    );
    store.end(ended("c", "1")).await.unwrap();
    drop(store);
    let state = HostState::open(&directory, Durability::Host).unwrap();
    let begun = state.store().begin(call("c", "1")).await.unwrap();
    assert!(matches!(begun, Begun::Ended(_)));
}

#[tokio::test]
async fn a_temporary_state_touches_no_disk() {
    let base = tempfile::tempdir().unwrap();
    let state = HostState::temporary(base.path()).unwrap();
    state.store().end(ended("c", "1")).await.unwrap();
    assert_eq!(state.directory(), None);
    assert!(!state.store().counts().is_kept);
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
}

#[needs(mount)]
#[tokio::test]
async fn a_disk_that_was_always_full_costs_the_records_and_not_the_start() {
    let disk = Mounted::new();
    let directory = StateDir::open(&disk.path().join("state")).unwrap();
    disk.fill();
    let power = HostState::open(&directory, Durability::Power).unwrap_err();
    assert!(
        matches!(
            power,
            HostStateError::Store(StoreError::Full { .. } | StoreError::Failed { .. })
        ),
        "{power:?}"
    );
    let state = HostState::open(&directory, Durability::Host).unwrap();
    assert!(!state.store().counts().is_kept && state.directory().is_some());
    let begun = state.store().begin(call("c", "1")).await.unwrap();
    assert_eq!(begun, Begun::New);
    HostState::open(&directory, Durability::Host).unwrap_err();
}
