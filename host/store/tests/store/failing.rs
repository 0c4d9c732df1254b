//! Tests of staged changes that the disk does not take.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;

use toolhost_needs::needs;
use toolhost_store::{
    Begun, CallQuery, CallState, Durability, EndedCall, LocalStore, ProcessQuery, Sqlite, Store,
};

use crate::disks::Mounted;
use crate::sqlite::{open, settle};
use crate::values::{call, ended, process, session};

/// Fills a disk but for some bytes. Returns the path of the file that fills it.
fn fill_but(disk: &Mounted, bytes: u64) -> std::path::PathBuf {
    let filler = disk.fill();
    let file = OpenOptions::new().write(true).open(&filler).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes)
        .unwrap();
    filler
}

fn large(id: &str, bytes: usize) -> EndedCall {
    EndedCall {
        outcome: "x".repeat(bytes),
        ..ended("c", id)
    }
}

/// Returns the ids of the calls that the database has, without those that are staged.
fn committed(state: &Path) -> Vec<String> {
    let database = rusqlite::Connection::open(state.join("store.db")).unwrap();
    let mut calls = database
        .prepare("SELECT call FROM calls ORDER BY call")
        .unwrap();
    let calls = calls.query_map([], |row| row.get(0)).unwrap();
    calls.collect::<rusqlite::Result<_>>().unwrap()
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

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_does_not_fit_blocks_no_other() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    let filler = fill_but(&disk, 100 << 10);
    // The file of staged changes takes it, and then the log does not.
    store.end(large("large", 60 << 10)).await.unwrap();
    settle(&store);
    assert_eq!(committed(&state), [""; 0]);

    store.put_session(session("s")).await.unwrap();
    assert_eq!(store.begin(call("c", "1")).await.unwrap(), Begun::New);
    store.end(ended("c", "1")).await.unwrap();
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::New);
    store.add_process(process("p", "c")).await.unwrap();
    assert_eq!(committed(&state), ["1", "2"]);

    // The call that waits is known.
    assert!(matches!(
        store.begin(call("c", "large")).await.unwrap(),
        Begun::Ended(_)
    ));
    assert_eq!(found(&store, "large").await, CallState::Finished);
    let mut calls = listed(&store).await;
    calls.sort();
    let finished = |id: &str| (id.to_owned(), CallState::Finished);
    assert_eq!(
        calls,
        [
            finished("1"),
            ("2".to_owned(), CallState::Running),
            finished("large")
        ]
    );

    std::fs::remove_file(filler).unwrap();
    settle(&store);
    assert_eq!(committed(&state), ["1", "2", "large"]);
    drop(store);
    let store = open(&state, Durability::Host).unwrap();
    for id in ["1", "large"] {
        assert!(matches!(
            store.begin(call("c", id)).await.unwrap(),
            Begun::Ended(_)
        ));
    }
    assert_eq!(store.sessions().await.unwrap(), [session("s")]);
}

/// More large changes fail than are tried at once.
#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_changes_behind_large_ones_are_stored() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    let filler = fill_but(&disk, 1100 << 10);
    for number in 0..20 {
        let id = format!("large-{number}");
        store.end(large(&id, 50 << 10)).await.unwrap();
    }
    store.end(ended("c", "small")).await.unwrap();
    store.add_process(process("p", "c")).await.unwrap();
    settle(&store);
    let stored = committed(&state);
    assert!(
        stored.contains(&"small".to_owned()) && stored.len() < 4,
        "{stored:?}"
    );
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(processes.found, [process("p", "c")]);
    assert_eq!(listed(&store).await.len(), 21);
    std::fs::remove_file(filler).unwrap();
    settle(&store);
    assert_eq!(committed(&state).len(), 21);
}

/// A change waits for an earlier change of the same call or process.
#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_waits_for_an_earlier_one_of_the_same_process() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    let filler = fill_but(&disk, 100 << 10);
    let long = toolhost_store::Process {
        command: "x".repeat(60 << 10),
        ..process("p", "c")
    };
    store.add_process(long.clone()).await.unwrap();
    store.end(large("large", 20 << 10)).await.unwrap();
    settle(&store);
    let error = store.forget_processes(vec!["p".to_owned()]).await;
    assert!(
        matches!(error, Err(toolhost_store::StoreError::Full { .. })),
        "{error:?}"
    );
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert!(processes.found == [long]);
    std::fs::remove_file(filler).unwrap();
    store.forget_processes(vec!["p".to_owned()]).await.unwrap();
    let processes = store.processes(ProcessQuery::all()).await.unwrap();
    assert!(processes.found.is_empty());
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
    settle(&store);
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
