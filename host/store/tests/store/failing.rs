//! Tests of changes that the disk does not take.

use std::path::Path;
use std::process::Command;

use futures_util::future::join_all;
use toolhost_needs::needs;
use toolhost_store::{
    Begun, CallQuery, CallState, Durability, EndedCall, LocalStore, ProcessQuery, Sqlite, Store,
    StoreError,
};

use crate::disks::Mounted;
use crate::sqlite::open;
use crate::values::{call, ended, process, session};

fn large(id: &str) -> EndedCall {
    EndedCall {
        outcome: "x".repeat(3 << 20),
        ..ended("c", id)
    }
}

async fn listed(store: &Sqlite) -> Vec<(String, CallState)> {
    let query = CallQuery::of_chat("c".parse().unwrap(), 100);
    let page = store.calls(query).await.unwrap();
    let calls = page.calls.into_iter();
    calls
        .map(|call| (call.call.to_string(), call.state))
        .collect()
}

async fn found(store: &Sqlite, id: &str) -> CallState {
    let found = store.call("c".parse().unwrap(), id.parse().unwrap()).await;
    found.unwrap().unwrap().state
}

/// Changes that are committed together are tried alone if one of them does not fit.
#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_does_not_fit_takes_no_other_with_it() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    disk.fill();
    let ids: Vec<_> = (0..8).map(|number| number.to_string()).collect();
    let large = ids.iter().map(|id| store.end(large(id)));
    let small = ids.iter().map(|id| store.begin(call("small", id)));
    let both = futures_util::future::join(join_all(large), join_all(small));
    let (large, small) = both.await;
    for refused in large {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    }
    for begun in small {
        assert_eq!(begun.unwrap(), Begun::New);
    }
    store.put_session(session("s")).await.unwrap();
    store.add_process(process("p", "c")).await.unwrap();
    disk.empty();
    drop(store);
    let store = open(&state, Durability::Host).unwrap();
    for id in ["0", "7"] {
        let begun = store.begin(call("small", id)).await.unwrap();
        assert_eq!(begun, Begun::Running, "{id}");
        assert_eq!(store.begin(call("c", id)).await.unwrap(), Begun::New);
    }
    assert_eq!(store.sessions().await.unwrap(), [session("s")]);
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(processes.found, [process("p", "c")]);
}

/// A file system on a file, which can turn read-only while files of it are open.
pub(crate) struct Loop {
    pub(crate) disk: Mounted,
    _image: tempfile::NamedTempFile,
}

impl Loop {
    pub(crate) fn new() -> Self {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(16 << 20).unwrap();
        let made = Command::new("mkfs.ext4")
            .arg("-q")
            .arg(image.path())
            .status();
        assert!(made.unwrap().success());
        let disk = Mounted::of(&["-o", "loop", image.path().to_str().unwrap()]);
        Self {
            disk,
            _image: image,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Lets the file system meet an error, after which it takes no more changes.
    pub(crate) fn fail(&self) {
        self.disk.mount(&["-o", "remount,abort"]);
    }
}

#[needs(mount, program = "mkfs.ext4")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_turns_read_only_at_work_hides_no_call() {
    let disk = Loop::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::New);
    assert_eq!(store.begin(call("c", "3")).await.unwrap(), Begun::New);
    store.end(ended("c", "2")).await.unwrap();
    store.add_process(process("p", "c")).await.unwrap();
    disk.fail();
    store.begin(call("c", "4")).await.unwrap_err();
    assert_eq!(
        listed(&store).await,
        [
            ("3".to_owned(), CallState::Running),
            ("2".to_owned(), CallState::Finished),
            ("1".to_owned(), CallState::Finished),
        ]
    );
    for (id, state) in [("2", CallState::Finished), ("3", CallState::Running)] {
        assert_eq!(found(&store, id).await, state);
    }
    assert!(matches!(
        store.begin(call("c", "2")).await.unwrap(),
        Begun::Ended(_)
    ));
    assert_eq!(store.begin(call("c", "3")).await.unwrap(), Begun::Running);
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(processes.found, [process("p", "c")]);
}
