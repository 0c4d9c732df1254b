//! A state directory on a full disk: commands run on, and whoever asks is told that saving failed.

use std::path::Path;

use serde_json::json;
use toolhost_local::process::Process;
use toolhost_needs::needs;
use toolhost_workspace::process::{Saved, WINDOW};

use super::{TestRegistry, chat, config, gone, kept, open_kept, pattern, read_all, sh};
use crate::harness::{self, Mounted, PATIENCE, until};

/// Mounts a file system of two MiB at the place of the state directory in a workspace.
fn small_disk(workspace: &Path) -> Mounted {
    let place = workspace.join("state");
    std::fs::create_dir(&place).unwrap();
    Mounted::in_memory(&place, "size=2m")
}

fn setup() -> (Mounted, TestRegistry) {
    let workspace = tempfile::tempdir().unwrap();
    let disk = small_disk(workspace.path());
    let state = kept(workspace.path()).unwrap();
    (disk, TestRegistry::open(workspace, |config| config, &state))
}

async fn exited(process: &Process) {
    until("the process has exited", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
    assert_eq!(process.state().exit_status().unwrap().code, Some(0));
}

fn says_no_space(saved: &Saved) -> bool {
    matches!(saved, Saved::Failed(why) if why.contains("No space left on device"))
}

#[needs(mount)]
#[tokio::test]
async fn commands_run_on_and_say_that_saving_failed() {
    let (disk, setup) = setup();
    let bytes = pattern(0..3 << 20);
    setup.write("file", &bytes);
    let process = setup.run("cat file").await;
    exited(&process).await;
    let snapshot = process.snapshot().await;
    assert!(says_no_space(&snapshot.saved), "{:?}", snapshot.saved);
    assert_eq!(snapshot.total, bytes.len() as u64);
    assert!(bytes.starts_with(&snapshot.head) && bytes.ends_with(&snapshot.tail));
    assert_eq!((snapshot.head.len(), snapshot.tail.len()), (WINDOW, WINDOW));
    // What the disk took before stays readable, and the rest is an exact gap.
    let saved = read_all(&process).await;
    assert!(
        saved.len() > 100_000 && bytes.starts_with(&saved),
        "{}",
        saved.len()
    );
    let gap = process.read(saved.len() as u64, 10).await;
    assert_eq!(gap.offset, snapshot.total - WINDOW as u64);
    // With nothing left, down to the last byte.
    disk.fill();
    for _ in 0..50 {
        let process = setup.run("echo hello").await;
        exited(&process).await;
        // An end can be known before the disk was asked.
        let begun = std::time::Instant::now();
        let mut snapshot = process.snapshot().await;
        while !says_no_space(&snapshot.saved) {
            assert!(begun.elapsed() < PATIENCE, "{:?}", snapshot.saved);
            crate::harness::a_moment().await;
            snapshot = process.snapshot().await;
        }
        assert_eq!(snapshot.head, b"hello\n");
    }
    // With room again, it is saved again.
    disk.empty();
    setup.registry.end_chat(&chat("a")).await;
    let process = setup.run("cat file | head -c 200000").await;
    exited(&process).await;
    assert_eq!(process.snapshot().await.saved, Saved::Complete);
    assert!(read_all(&process).await == bytes[..200_000]);
    setup.registry.shutdown().await;
}

#[needs(mount)]
#[tokio::test]
async fn the_reply_of_a_tool_says_so() {
    let workspace = tempfile::tempdir().unwrap();
    let disk = small_disk(workspace.path());
    let (config, state) = (config(workspace.path()), kept(workspace.path()).unwrap());
    let setup = harness::Setup::with(|builder| builder.processes(config).state(state)).await;
    let reply = setup.execute("yes | head -c 3000000").await;
    assert_eq!(
        (&reply["success"], &reply["truncated"]["saved"]),
        (&json!(true), &json!(false))
    );
    let note = reply["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("could not be saved") && note.contains("No space left on device"),
        "{note}: {}",
        reply["truncated"]
    );
    disk.fill();
    let reply = setup.execute("echo hello").await;
    assert_eq!(
        (&reply["success"], &reply["output"]),
        (&json!(true), &json!("hello\n"))
    );
    setup.host.shutdown().await;
}

/// A record that found no room is stored once there is room: the next host knows how each process ended.
#[needs(mount)]
#[tokio::test]
async fn records_are_stored_once_there_is_room_again() {
    let (disk, setup) = setup();
    let running = setup.start("exec sleep 1000").await;
    disk.fill();
    let mut known = Vec::new();
    for code in 0..20 {
        known.push(setup.run(&format!("exit {code}")).await);
    }
    disk.empty();
    known.push(setup.run("exit 21").await);
    for process in &known {
        gone(process).await;
    }
    let setup = setup.reopened(|config| config).await;
    for before in &known {
        let process = setup.registry.get(&chat("a"), before.id()).unwrap();
        assert_eq!(process.state(), before.state());
    }
    let ended = setup.registry.get(&chat("a"), running.id()).unwrap();
    assert!(!ended.state().is_live());
    setup.registry.shutdown().await;
}

/// A host that is started again while its disk is full knows what its store says, and runs commands.
#[needs(mount)]
#[tokio::test]
async fn a_full_disk_does_not_stop_the_start() {
    let (disk, setup) = setup();
    let mut known = Vec::new();
    for index in 0..20 {
        known.push(setup.run(&format!("echo {index}; true")).await);
    }
    for process in &known {
        exited(process).await;
        // Its output is on the disk then.
        assert_eq!(process.snapshot().await.saved, Saved::Complete);
    }
    let store = rusqlite::Connection::open(setup.workspace.path().join("state/store.db")).unwrap();
    until("the store knows every end", || {
        let live = "SELECT count(*) FROM processes WHERE live";
        let live: u32 = store.query_row(live, [], |row| row.get(0)).unwrap();
        (live == 0).then_some(())
    })
    .await;
    drop(store);
    disk.fill();
    setup.registry.shutdown().await;
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    drop(registry);
    let registry = open_kept(workspace.path())
        .await
        .expect("it opens on a full disk");
    for (index, before) in known.iter().enumerate() {
        let process = registry.get(&chat("a"), before.id()).unwrap();
        assert_eq!(process.state(), before.state());
        assert_eq!(
            process.snapshot().await.head,
            format!("{index}\n").as_bytes()
        );
    }
    let process = registry.start(&chat("a"), sh("echo hi")).await.unwrap();
    exited(&process).await;
    assert_eq!(process.snapshot().await.head, b"hi\n");
    registry.shutdown().await;
    drop(disk);
}
