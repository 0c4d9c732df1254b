//! Tests with disks that are full or read-only.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use toolhost_needs::needs;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{
    Begun, CallState, Durability, EndedCall, HostState, Sqlite, Store, StoreError,
};

use crate::damage::copy;
use crate::sqlite::open;
use crate::values::{call, ended, limits};

/// How many calls begin and end on a full disk, at least.
const ROOM: usize = 1000;

/// A small file system in memory, which is unmounted when this value is dropped.
pub(crate) struct Mounted(tempfile::TempDir);

impl Mounted {
    pub(crate) fn new() -> Self {
        Self::of(&["-t", "tmpfs", "-o", "mode=700,size=4m", "toolhost-test"])
    }

    /// Mounts the file system that these arguments of `mount` name.
    pub(crate) fn of(arguments: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.mount(arguments);
        place
    }

    pub(crate) fn mount(&self, arguments: &[&str]) {
        let done = Command::new("mount")
            .args(arguments)
            .arg(self.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "it needs mount: {done:?}");
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the file system to its last byte.
    pub(crate) fn fill(&self) {
        let mut filler = std::fs::File::create(self.path().join("filler")).unwrap();
        Self::fill_with(&mut filler);
    }

    fn fill_with(filler: &mut std::fs::File) {
        while std::io::Write::write_all(filler, &[b'x'; 512]).is_ok() {}
    }

    /// Gives back what [`Mounted::fill`] took. A program that another test starts at this moment has the file open until it runs, and only
    /// an empty file then takes no space.
    pub(crate) fn empty(&self) {
        let path = self.path().join("filler");
        std::fs::File::create(&path).unwrap();
        std::fs::remove_file(path).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(unmounted.unwrap().success() || std::thread::panicking());
    }
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_loses_nothing() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    for durability in [Durability::Host, Durability::Power] {
        let store = open(&state, durability).unwrap();
        store.interrupt().await.unwrap();
        let name = format!("{durability:?}");
        let mut begun = Vec::new();
        for number in 0.. {
            if number == 20 {
                disk.fill();
            }
            let id = format!("{name}-{number}");
            match store.begin(call("c", &id)).await {
                Ok(answer) => assert_eq!(answer, Begun::New),
                Err(error) => {
                    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
                    break;
                }
            }
            begun.push(id);
        }
        assert!(begun.len() >= 20);
        // A change that was refused is not stored, and every call that was stored can be read.
        let large = EndedCall {
            outcome: "x".repeat(3 << 20),
            ..ended("c", "large")
        };
        let refused = store.end(large).await;
        assert!(matches!(refused, Err(StoreError::Full { .. })));
        for id in &begun {
            let found = store
                .call("c".parse().unwrap(), id.parse().unwrap())
                .await
                .unwrap();
            assert!(found.is_some(), "{id}");
        }
        disk.empty();
        for id in &begun {
            store.end(ended("c", id)).await.unwrap();
        }
        drop(store);
        let store = open(&state, durability).unwrap();
        for id in &begun {
            assert!(matches!(
                store.begin(call("c", id)).await.unwrap(),
                Begun::Ended(_)
            ));
        }
    }
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_turns_read_only_is_told() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    drop(store);
    disk.mount(&["-o", "remount,ro"]);
    let error = open(&state, Durability::Host).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::ReadOnly { .. } | StoreError::Failed { .. }
        ),
        "{error:?}"
    );
    disk.mount(&["-o", "remount,rw"]);
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_on_a_full_disk_writes_once_there_is_room() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    drop(store);
    let mut filler = std::fs::File::create(disk.path().join("filler")).unwrap();
    Mounted::fill_with(&mut filler);
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
    Mounted::fill_with(&mut filler);
    let mut number = 2;
    while store.begin(call("c", &number.to_string())).await.is_ok() {
        number += 1;
    }
    drop(filler);
    disk.empty();
    store.end(ended("c", "late")).await.unwrap();
    drop(store);
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "late")).await.unwrap(),
        Begun::Ended(_)
    ));
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_memory_knows_the_file_on_a_full_disk() {
    let disk = Mounted::new();
    let (running, state) = (disk.path().join("running"), disk.path().join("state"));
    let store = open(&running, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    store.begin(call("c", "2")).await.unwrap();
    // A killed host leaves the files as they are at that moment: the log has both calls.
    copy(&running, &state);
    std::fs::remove_file(state.join("store.db-shm")).unwrap();
    disk.fill();
    let directory = StateDir::open(&state).unwrap();
    let store = Sqlite::in_memory_of(&directory, ErrorKind::StorageFull).unwrap();
    let found = async |id: &str| store.call("c".parse().unwrap(), id.parse().unwrap()).await;
    let (ended, running) = (found("1").await.unwrap(), found("2").await.unwrap());
    assert_eq!(ended.unwrap().state, CallState::Finished);
    assert_eq!(running.unwrap().state, CallState::Running);
    // A call that only memory has would run again after the next start.
    let error = store.begin(call("c", "3")).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Full { path } if *path == state.join("store.db")),
        "{error:?}"
    );
    assert!(!store.counts().is_kept);
}

/// Begins and ends calls until the disk has no room for them. Returns how many.
async fn run_all(store: &dyn Store, name: &str) -> usize {
    for number in 0.. {
        let id = format!("{name}-{number}");
        let ran = async {
            store.begin(call("c", &id)).await?;
            store.end(ended("c", &id)).await
        };
        if let Err(error) = ran.await {
            assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
            return number;
        }
    }
    unreachable!()
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_run_on_a_full_disk() {
    let disk = Mounted::of(&["-t", "tmpfs", "-o", "mode=700,size=160m", "toolhost-test"]);
    let state = disk.path().join("state");
    let directory = StateDir::open(&state).unwrap();
    directory.subdirectory("output").unwrap();
    let store = open(&state, Durability::Host).unwrap();
    // The log begins anew after some time.
    for number in 0..2 * ROOM {
        store
            .end(ended("before", &number.to_string()))
            .await
            .unwrap();
    }
    disk.fill();
    let first = run_all(&store, "first").await;
    assert!(first >= ROOM, "{first}");
    // The first and the last call that ran can be looked up.
    let found = async |id: &str| store.call("c".parse().unwrap(), id.parse().unwrap()).await;
    assert!(found("first-0").await.unwrap().is_some());
    assert!(
        found(&format!("first-{}", first - 1))
            .await
            .unwrap()
            .is_some()
    );

    // Once there is space again, the next sweep brings the room back.
    disk.empty();
    store.sweep(limits()).await.unwrap();
    disk.fill();
    let second = run_all(&store, "second").await;
    assert!(second >= ROOM, "{second}");

    // The next host has the room of the reserve, though another program takes all space that becomes free.
    disk.empty();
    store.sweep(limits()).await.unwrap();
    disk.fill();
    drop(store);
    disk.fill();
    let state = HostState::open(&directory, Durability::Host).unwrap();
    disk.fill();
    let third = run_all(&**state.store(), "third").await;
    assert!(third >= 50, "{third}");
}

/// A store in memory begins no call, because the file would not know it.
#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_begins_in_memory_beside_a_file() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    drop(store);
    disk.mount(&["-o", "remount,ro"]);
    let directory = StateDir::open(&state).unwrap();
    let store = Sqlite::in_memory_of(&directory, ErrorKind::ReadOnlyFilesystem).unwrap();
    let found = store.call("c".parse().unwrap(), "1".parse().unwrap()).await;
    assert_eq!(found.unwrap().unwrap().state, CallState::Finished);
    for _ in 0..2 {
        let error = store.begin(call("c", "4")).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
    // A read-only tool has no beginning.
    store.end(ended("c", "5")).await.unwrap();
}
