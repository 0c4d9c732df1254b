//! Tests with a disk that does not answer.

use parking_lot::Mutex;

use super::*;
use crate::{Begun, CallState, NewCall, Store};

fn new_call(call: &str) -> NewCall {
    NewCall {
        chat: "c".parse().unwrap(),
        call: call.parse().unwrap(),
        tool: "execute".into(),
        principal: "token".into(),
        digest: [1; 32],
        arguments: None,
        began_ms: 0,
    }
}

/// The lock of another connection delays a change as a disk does that hangs. With a clock that is paused, the patience of a caller ends as
/// soon as nothing else is left to do.
#[tokio::test]
async fn a_call_whose_beginning_comes_too_late_is_forgotten() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    let store = Sqlite::open(&directory, Durability::Host).unwrap();
    assert_eq!(store.begin(new_call("before")).await.unwrap(), Begun::New);
    let disk = Connection::open(&store.path).unwrap();
    disk.execute_batch("BEGIN IMMEDIATE").unwrap();
    tokio::time::pause();
    for id in ["late", "later"] {
        let refused = store.begin(new_call(id)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Late { .. }), "{refused:?}");
    }
    tokio::time::resume();
    assert!(!store.is_reachable());
    // Lookups go on, and the numbers of the store wait for no disk.
    let found = store.call("c".parse().unwrap(), "before".parse().unwrap());
    assert_eq!(found.await.unwrap().unwrap().state, CallState::Running);
    assert_eq!(store.counts().running, 1);
    drop(disk);
    for id in ["late", "later"] {
        assert_eq!(store.begin(new_call(id)).await.unwrap(), Begun::New, "{id}");
    }
    assert_eq!(store.counts().running, 3);
    assert!(store.is_reachable());
}

#[tokio::test]
async fn readers_that_hang_leave_threads_for_others() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    let store = Sqlite::open(&directory, Durability::Host).unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let hanging = (0..10).map(|_| {
        let released = Arc::clone(&released);
        store.read("hang", move |_| {
            _ = released.lock().recv();
            Ok(())
        })
    });
    let hanging = futures_util::future::join_all(hanging);
    tokio::time::pause();
    let (late, ()) = tokio::join!(hanging, tokio::time::advance(PATIENCE * 2));
    tokio::time::resume();
    for late in late {
        assert!(matches!(late, Err(StoreError::Late { .. })), "{late:?}");
    }
    // A change that the disk takes does not hide that lookups hang.
    assert_eq!(store.begin(new_call("1")).await.unwrap(), Begun::New);
    assert!(!store.is_reachable());
    drop(release);
    let found = store.call("c".parse().unwrap(), "1".parse().unwrap()).await;
    assert!(found.unwrap().is_some());
    while !store.is_reachable() {
        tokio::task::yield_now().await;
    }
}
