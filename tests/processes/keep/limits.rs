//! Kept processes in their chat: its limits, its keys, its list, its temporary directory, and the limits of saved output.

use toolhost_needs::needs;

use super::*;
use crate::harness::Mounted;

fn keyed(key: &str, command: &str) -> Command {
    Command {
        key: Some(key.into()),
        ..sh(command)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_count_in_their_chat_and_their_keys_find_them() {
    let limited = |config| Config {
        limits: Limits {
            live_per_chat: 2,
            ..Limits::default()
        },
        ..keeping(config)
    };
    let setup = TestRegistry::kept(limited);
    let uuid = "9b2c3f51-6a6c-4b58-9d1b-3f1d6a9a1c11";
    let mut ids = Vec::new();
    for key in ["k", uuid] {
        let a = chat("a");
        let started = setup.registry.start(&a, keyed(key, "exec sleep 1000"));
        ids.push(started.await.unwrap().id().to_owned());
    }
    let setup = resumed(setup.reopened(limited).await);
    for (key, id) in ["k", uuid].into_iter().zip(&ids) {
        let a = chat("a");
        let start = |command| setup.registry.start(&a, keyed(key, command));
        assert_eq!(start("exec sleep 1000").await.unwrap().id(), id);
        let other = start("exec sleep 1001").await.unwrap_err();
        assert!(matches!(other, Error::KeyReused(_)), "{other:?}");
    }
    let full = setup.registry.start(&chat("a"), sh("true")).await;
    assert!(matches!(full, Err(Error::Limit(_))), "{full:?}");
    let (listed, count) = setup.registry.list(&chat("a"), true, 10);
    assert_eq!((listed.len(), count), (2, 2));
    assert!(listed.iter().all(|info| ids.contains(&info.id)));
    assert_eq!(setup.registry.list(&chat("b"), false, 10).1, 0);
    // The key of a process also ends it.
    assert_eq!(setup.registry.cancel(&chat("a"), "k").await, 1);
    assert!(!get(&setup, &ids[0]).state().is_live());
    let ended = setup.registry.end_chat(&chat("a")).await;
    assert_eq!(ended.len(), 1);
    assert_eq!(setup.registry.live(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_temporary_directory_of_the_chat_stays() {
    let setup = kept();
    let command = "echo kept > $TMPDIR/file; echo $TMPDIR > place; until [ -e go ]; do sleep 0.01; done; cat $TMPDIR/file";
    let id = setup.start(command).await.id().to_owned();
    let place = setup.written("place").await;
    let setup = replaced(setup).await;
    assert_eq!(
        setup.output_of("cat $TMPDIR/file; echo $TMPDIR").await.1,
        format!("kept\n{place}\n")
    );
    setup.write("go", b"");
    finished(&get(&setup, &id)).await;
    assert_eq!(get(&setup, &id).read(0, 10).await.data, b"kept\n");
    // Nothing of the chat was live when the host was replaced.
    let setup = replaced(setup).await;
    assert!(!Path::new(&place).exists());
    drop(setup);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_the_limit_of_saved_output_the_counts_and_the_end_are_exact() {
    let small = |config| Config {
        save_limits: SaveLimits {
            per_process: 1_000_000,
            ..SaveLimits::default()
        },
        ..keeping(config)
    };
    let mut setup = TestRegistry::kept(small);
    // Eight bytes a line.
    let command = "seq 1000000 2500000; until [ -e go ]; do sleep 0.01; done; seq 3000000 3500000; echo $$ > done; exec sleep 1000";
    let id = setup.start(command).await.id().to_owned();
    for part in [300_000, 900_000, 1_100_000, 9_000_000, 12_000_008] {
        written(&get(&setup, &id), part).await;
        setup = resumed(setup.reopened(small).await);
        let process = get(&setup, &id);
        let begin = process.read(0, 16).await;
        assert_eq!(
            (begin.offset, begin.data),
            (0, b"1000000\n1000001\n".to_vec())
        );
        assert!(process.info().total >= part);
    }
    // The rest comes while no host is there.
    setup.registry.shutdown().await;
    setup.write("go", b"");
    setup.pid("done").await;
    let setup = resumed(setup.reopened(small).await);
    let process = get(&setup, &id);
    let total = 8 * (1_500_001 + 500_001);
    written(&process, total).await;
    let snapshot = process.snapshot().await;
    assert_eq!(
        (snapshot.total, snapshot.saved),
        (total, Saved::Partial(1_000_000))
    );
    assert!(snapshot.tail.ends_with(b"3499999\n3500000\n"));
    let saved = process.read(0, 1_000_000).await;
    assert_eq!((saved.offset, saved.data.len()), (0, 1_000_000));
    assert!(saved.data.ends_with(b"1124999\n"));
    let after = process.read(1_000_000, 8).await;
    assert!(
        after.offset > 1_000_000 && after.data.len() == 8,
        "{after:?}"
    );
    let line: u64 = String::from_utf8(after.data)
        .unwrap()
        .trim()
        .parse()
        .unwrap_or(0);
    // The gap is exact: the bytes after it are those of their cursor.
    if after.offset % 8 == 0 {
        assert_eq!(line, 3_000_000 + (after.offset / 8 - 1_500_001));
    }
    setup.signal(&process, Signal::Kill);
    gone(&process).await;
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_commands_run_on_and_no_output_is_made_up() {
    let workspace = tempfile::tempdir().unwrap();
    let place = workspace.path().join("state");
    std::fs::create_dir(&place).unwrap();
    let disk = Mounted::in_memory(&place, "size=4m");
    let state = crate::harness::processes::kept(workspace.path()).unwrap();
    let setup = TestRegistry::open(workspace, keeping, &state);
    drop(state);
    let command = "echo begin; until [ -e go ]; do sleep 0.01; done; seq 1000000 1499999; until [ -e on ]; do sleep 0.01; done; \
                   seq 2000000 2000009; exec sleep 1000";
    let id = setup.start(command).await.id().to_owned();
    written(&get(&setup, &id), 6).await;
    disk.fill();
    setup.write("go", b"");
    let total = 6 + 8 * 500_000;
    written(&get(&setup, &id), total).await;
    let tail = get(&setup, &id).snapshot().await.tail;
    assert!(tail.ends_with(b"1499999\n"));
    let setup = replaced(setup).await;
    let process = get(&setup, &id);
    assert_eq!(
        (process.state(), process.info().total),
        (State::Running, total)
    );
    setup.write("on", b"");
    written(&process, total + 80).await;
    let snapshot = process.snapshot().await;
    assert_eq!(snapshot.total, total + 80);
    assert!(snapshot.tail.ends_with(b"2000008\n2000009\n"));
    let last = process.read(total, 100).await;
    assert_eq!((last.offset, last.data.len()), (total, 80));
    let mut at = 0;
    while at < total {
        let chunk = process.read(at, 1 << 20).await;
        assert!(!chunk.data.contains(&0), "at {at}");
        at = chunk.offset + chunk.data.len() as u64;
    }
    setup.signal(&process, Signal::Kill);
    gone(&process).await;
    setup.registry.shutdown().await;
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    drop((process, registry, disk, workspace));
}
