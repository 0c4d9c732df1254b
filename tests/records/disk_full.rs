//! A state directory on a full disk: commands run on, and whoever asks is told that saving failed.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolhost::process::{Process, Registry, Saved, WINDOW};

use super::{Setup, chat, kept, pattern, read_all, sh};
use crate::harness;
use crate::harness::{PATIENCE, until};

/// A file system of one MiB at the place of the state directory.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it in a workspace; `None`, with a printed reason, where this user may not.
    fn mount(workspace: &Path) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let place = workspace.join("state");
        std::fs::create_dir(&place).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "toolhost-test"])
            .arg(&place)
            .output();
        match mounted {
            Ok(output) if output.status.success() => {
                let mode = std::fs::Permissions::from_mode(0o700);
                std::fs::set_permissions(&place, mode).unwrap();
                Some(Self(place))
            }
            other => {
                println!("skipped: no tmpfs can be mounted here: {other:?}");
                None
            }
        }
    }

    /// Takes all that is left.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the registry of a test that failed may still have files open.
        let unmounted = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
        assert!(unmounted.unwrap().success() || std::thread::panicking());
    }
}

fn setup() -> Option<(SmallDisk, Setup)> {
    let workspace = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(workspace.path())?;
    let registry = Registry::open(kept(workspace.path())).unwrap();
    let setup = Setup {
        registry,
        workspace,
    };
    Some((disk, setup))
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

#[tokio::test]
async fn commands_run_on_and_say_that_saving_failed() {
    let Some((disk, setup)) = setup() else { return };
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
            tokio::task::yield_now().await;
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

#[tokio::test]
async fn the_reply_of_a_tool_says_so() {
    let workspace = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(workspace.path()) else {
        return;
    };
    let config = kept(workspace.path());
    let setup = harness::Setup::with(|builder| builder.processes(config)).await;
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

/// A host that is started again while its disk is full knows what its journal says, and runs commands.
#[tokio::test]
async fn a_full_disk_does_not_stop_the_start() {
    let Some((disk, setup)) = setup() else { return };
    let mut known = Vec::new();
    for index in 0..20 {
        known.push(setup.run(&format!("echo {index}; true")).await);
    }
    for process in &known {
        exited(process).await;
        // Its output is on the disk then.
        assert_eq!(process.snapshot().await.saved, Saved::Complete);
    }
    disk.fill();
    setup.registry.shutdown().await;
    let Setup {
        registry,
        workspace,
    } = setup;
    drop(registry);
    let registry = Registry::open(kept(workspace.path())).expect("it opens on a full disk");
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
