//! Tests with disks that are full or read-only.

use std::path::Path;
use std::process::Command;

use toolhost_needs::needs;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{Begun, Durability, HostState, Sqlite, Store, StoreError};

use crate::damage::copy;
use crate::sqlite::{open, settle};
use crate::values::{call, ended};

/// How many calls the witness can note on a full disk, at least.
const ROOM: usize = 4096;

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

    /// Fills the file system to its last byte, and returns the path of the file that fills it.
    pub(crate) fn fill(&self) -> std::path::PathBuf {
        let path = self.path().join("filler");
        let mut filler = std::fs::File::create(&path).unwrap();
        while std::io::Write::write_all(&mut filler, &[b'x'; 512]).is_ok() {}
        path
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
        let mut filler = None;
        let mut begun = Vec::new();
        for number in 0.. {
            if number == 20 {
                filler = Some(disk.fill());
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
        assert!(matches!(
            store.end(ended("c", "large")).await,
            Err(StoreError::Full { .. })
        ));
        for id in &begun {
            let found = store
                .call("c".parse().unwrap(), id.parse().unwrap())
                .await
                .unwrap();
            assert!(found.is_some(), "{id}");
        }
        std::fs::remove_file(filler.unwrap()).unwrap();
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
    let filler = disk.path().join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[b'x'; 512]).is_ok() {}
    let store = open(&state, Durability::Host).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
    while std::io::Write::write_all(&mut file, &[b'x'; 512]).is_ok() {}
    let mut number = 2;
    while store.begin(call("c", &number.to_string())).await.is_ok() {
        number += 1;
    }
    drop(file);
    std::fs::remove_file(&filler).unwrap();
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
    settle(&store);
    // A killed host leaves the files as they are at that moment: the log has both calls.
    copy(&running, &state);
    std::fs::remove_file(state.join("store.db-shm")).unwrap();
    disk.fill();
    let directory = StateDir::open(&state).unwrap();
    let store = Sqlite::in_memory_of(Some(&directory)).unwrap();
    assert!(matches!(
        store.begin(call("c", "1")).await.unwrap(),
        Begun::Ended(_)
    ));
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::Running);
    assert_eq!(store.begin(call("c", "3")).await.unwrap(), Begun::New);
}

/// Notes calls until the disk has no room for them. Returns how many were noted.
async fn note_all(store: &dyn Store, name: &str) -> usize {
    for number in 0.. {
        let id = format!("{name}-{number}").parse().unwrap();
        if let Err(error) = store.note("c".parse().unwrap(), id).await {
            assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
            return number;
        }
    }
    unreachable!()
}

async fn full_disks_take_notes(disk: &Mounted) {
    let state = disk.path().join("state");
    let directory = StateDir::open(&state).unwrap();
    directory.subdirectory("output").unwrap();
    let store = open(&state, Durability::Host).unwrap();
    assert_eq!(store.begin(call("c", "1")).await.unwrap(), Begun::New);
    let filler = disk.fill();
    assert!(note_all(&store, "first").await >= ROOM);
    // A killed host leaves the files as they are now.
    let killed = tempfile::tempdir().unwrap();
    copy(&state, &killed.path().join("state"));
    let next = open(&killed.path().join("state"), Durability::Host).unwrap();
    for number in [0, 1, ROOM - 1] {
        let begun = next.begin(call("c", &format!("first-{number}"))).await;
        assert_eq!(begun.unwrap(), Begun::Unknown, "{number}");
    }
    assert_eq!(next.begin(call("c", "2")).await.unwrap(), Begun::New);

    // Once there is space again, the next call that is noted brings the room back.
    std::fs::remove_file(&filler).unwrap();
    store
        .note("c".parse().unwrap(), "3".parse().unwrap())
        .await
        .unwrap();
    disk.fill();
    assert!(note_all(&store, "second").await >= ROOM);

    // A host that ends on a full disk leaves the next one its room, though another program takes all space that becomes free.
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(store.begin(call("c", "4")).await.unwrap(), Begun::New);
    disk.fill();
    drop(store);
    disk.fill();
    let state = HostState::open(&directory, Durability::Host).unwrap();
    disk.fill();
    assert!(note_all(&**state.store(), "third").await >= ROOM);
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_noted_on_a_full_disk_in_memory() {
    full_disks_take_notes(&Mounted::new()).await;
}

#[needs(mount, program = "mkfs.ext4")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_noted_on_a_full_disk_of_ext4() {
    full_disks_take_notes(&crate::failing::Loop::new().disk).await;
}

/// A store in memory begins a call only once the call is noted beside the file, which has room for that on a full disk.
#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_begins_in_memory_is_unknown_to_the_next_host() {
    let disk = Mounted::new();
    let state = disk.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    store.end(ended("c", "1")).await.unwrap();
    drop(store);
    let filler = disk.fill();
    let directory = StateDir::open(&state).unwrap();
    let store = Sqlite::in_memory_of(Some(&directory)).unwrap();
    let begun = store.begin(call("c", "1")).await.unwrap();
    assert!(matches!(begun, Begun::Ended(_)));
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::New);
    drop(store);
    std::fs::remove_file(filler).unwrap();
    let store = open(&state, Durability::Host).unwrap();
    let begun = store.begin(call("c", "1")).await.unwrap();
    assert!(matches!(begun, Begun::Ended(_)));
    assert_eq!(store.begin(call("c", "2")).await.unwrap(), Begun::Unknown);
    assert_eq!(store.begin(call("c", "3")).await.unwrap(), Begun::New);
    drop(store);

    disk.mount(&["-o", "remount,ro"]);
    let store = Sqlite::in_memory_of(Some(&directory)).unwrap();
    let begun = store.begin(call("c", "1")).await.unwrap();
    assert!(matches!(begun, Begun::Ended(_)));
    for _ in 0..2 {
        let error = store.begin(call("c", "4")).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
}
