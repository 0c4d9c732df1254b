//! One host after the other on the same state directory.

use std::sync::Arc;
use std::time::Duration;

use toolhost_local::process::{Config, Process, SaveLimits};
use toolhost_store::ProcessQuery;
use toolhost_workspace::process::{Cause, Command, Saved, Signal, State};

use super::{TestRegistry, chat, finished, gone, kept, pattern, read_all, sh};
use crate::harness::{file, is_alive, until};

#[tokio::test]
async fn what_ended_answers_with_status_and_output() {
    let setup = TestRegistry::kept(|config| config);
    setup.write("file", &pattern(0..5 << 20));
    let a = chat("a");
    let mut before = vec![
        setup.run("echo out; echo err >&2; exit 7").await,
        setup.run("kill -SEGV $$").await,
        setup.run("cat file").await,
        setup.run("true").await,
    ];
    let killed = setup
        .start("echo begun; echo x > begun; exec sleep 1000")
        .await;
    file(&setup.workspace.path().join("begun")).await;
    setup
        .registry
        .signal(&a, killed.id(), Signal::Kill, None)
        .unwrap();
    before.push(killed);
    let command = Command {
        background: true,
        workdir: Some("/".into()),
        key: Some("call_1 0".into()),
        ..sh("pwd")
    };
    let of_none = setup.registry.start(None, command).await.unwrap();
    finished(&of_none).await;
    before.push(Arc::clone(&of_none));
    let running = setup
        .start("echo begun; echo $$ > pid; exec sleep 1000")
        .await;
    let pid: u32 = file(&setup.workspace.path().join("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    before.push(running);
    let mut seen = Vec::new();
    for process in &before[..6] {
        gone(process).await;
        seen.push((process.snapshot().await, process.info()));
    }
    let listed = setup.registry.list(&a, false, 100).0;
    let setup = setup.reopened(|config| config).await;
    assert!(!is_alive(pid));
    for (process, (snapshot, info)) in before.iter().zip(&seen) {
        let again = setup.registry.find(process.id()).unwrap();
        assert!(again.snapshot().await == *snapshot, "{}", process.command());
        let of = |info: &toolhost_workspace::process::Info| {
            (
                info.command.clone(),
                info.workdir.clone(),
                info.background,
                info.key.clone(),
                info.state.clone(),
                info.total,
            )
        };
        let info_again = again.info();
        assert_eq!(of(&info_again), of(info));
        // Times are kept in milliseconds.
        let apart = info.started.duration_since(info_again.started).unwrap();
        assert!(apart < Duration::from_millis(1), "{apart:?}");
        assert!(info_again.exited.is_some());
        assert!(read_all(&again).await.len() as u64 == snapshot.total);
    }
    let last = setup.registry.get(&a, before[6].id()).unwrap();
    let State::Exited(status) = last.state() else {
        panic!("{:?}", last.state())
    };
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGTERM"), Cause::Shutdown)
    );
    assert_eq!(read_all(&last).await, b"begun\n");
    assert!(setup.registry.get(&a, of_none.id()).is_err());
    let of_none = setup.registry.get(None, of_none.id()).unwrap();
    assert_eq!(of_none.key(), Some("call_1 0"));
    let ids = |infos: Vec<toolhost_workspace::process::Info>| {
        let mut ids: Vec<_> = infos.into_iter().map(|info| info.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(setup.registry.list(&a, false, 100).0), ids(listed));
    // What is known of an earlier host can be asked to end, and says that it has.
    let state = setup
        .registry
        .signal(&a, before[0].id(), Signal::Kill, None)
        .unwrap();
    assert_eq!(state, before[0].state());
    // And once more, from what the second host stored.
    let setup = setup.reopened(|config| config).await;
    for (process, (snapshot, _)) in before.iter().zip(&seen) {
        let again = setup.registry.find(process.id()).unwrap();
        assert!(again.snapshot().await == *snapshot, "{}", process.command());
    }
}

/// Shutdown is not over before what it says is saved has been written: the program exits after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shutdown_waits_for_the_disk() {
    for _ in 0..10 {
        let setup = TestRegistry::kept(|config| config);
        setup.write("file", &pattern(0..4 << 20));
        let mut processes = Vec::new();
        for _ in 0..4 {
            processes.push(setup.start("cat file; exec sleep 1000").await);
        }
        for process in &processes {
            until("it has written", || {
                (process.info().total == 4 << 20).then_some(())
            })
            .await;
        }
        setup.registry.shutdown().await;
        let chats = std::fs::read_dir(setup.output_directory()).unwrap();
        let files = chats.flat_map(|chat| std::fs::read_dir(chat.unwrap().path()).unwrap());
        let sizes: Vec<_> = files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes, [4 << 20; 4]);
    }
}

#[tokio::test]
async fn caps_are_known_after_a_restart() {
    let capped = |config| Config {
        save_limits: SaveLimits {
            per_process: 50_000,
            ..SaveLimits::default()
        },
        ..config
    };
    let setup = TestRegistry::kept(capped);
    let process = setup.run("seq 1 200000").await;
    gone(&process).await;
    let (id, total) = (process.id().to_owned(), process.info().total);
    let setup = setup.reopened(capped).await;
    let process = setup.registry.get(&chat("a"), &id).unwrap();
    let snapshot = process.snapshot().await;
    assert_eq!(
        (snapshot.total, &snapshot.saved),
        (total, &Saved::Partial(50_000))
    );
    assert_eq!((snapshot.head.len(), snapshot.tail.len()), (32 * 1024, 0));
    let chunk = process.read(49_990, 100).await;
    assert_eq!(
        (chunk.offset, chunk.data.len(), chunk.end),
        (49_990, 10, false)
    );
    let chunk = process.read(50_000, 100).await;
    assert_eq!(
        (chunk.offset, chunk.data.len(), chunk.end),
        (total, 0, true)
    );
}

/// Checks that later hosts say of the output of a process what this one says.
async fn reads_the_same(mut setup: TestRegistry, process: &Process) -> Saved {
    let before = process.snapshot().await.saved;
    for _ in 0..3 {
        setup = setup.reopened(|config| config).await;
        let again = setup.registry.get(&chat("a"), process.id()).unwrap();
        assert_eq!(again.snapshot().await.saved, before);
    }
    before
}

#[tokio::test]
async fn what_is_saved_reads_the_same_after_every_restart() {
    let setup = TestRegistry::kept(|config| config);
    let lost = setup
        .start("echo hi; echo $PPID > supervisor; exec sleep 1000")
        .await;
    let supervisor = file(&setup.workspace.path().join("supervisor")).await;
    let supervisor = nix::unistd::Pid::from_raw(supervisor.trim().parse().unwrap());
    nix::sys::signal::kill(supervisor, nix::sys::signal::Signal::SIGKILL).unwrap();
    gone(&lost).await;
    assert!(matches!(lost.state(), State::Lost(_)));
    assert_eq!(reads_the_same(setup, &lost).await, Saved::Complete);
    let setup = TestRegistry::kept(|config| config);
    std::fs::remove_dir(setup.output_directory()).unwrap();
    let failed = setup.run("echo hi").await;
    gone(&failed).await;
    let saved = reads_the_same(setup, &failed).await;
    assert!(matches!(saved, Saved::Failed(_)), "{saved:?}");
}

#[tokio::test]
async fn a_chat_that_ended_leaves_no_file_and_no_entry() {
    let setup = TestRegistry::kept(|config| config);
    let (a, b) = (chat("a"), chat("b"));
    for owner in [Some(&a), Some(&b), None] {
        for command in ["seq 1 100000", "echo hi"] {
            let process = setup.registry.start(owner, sh(command)).await.unwrap();
            finished(&process).await;
            gone(&process).await;
            // Its output is on the disk then.
            assert_eq!(process.snapshot().await.saved, Saved::Complete);
        }
    }
    let directories = || std::fs::read_dir(setup.output_directory()).unwrap().count();
    assert_eq!(directories(), 3);
    setup.registry.end_chat(&a).await;
    setup.registry.end_chat(None).await;
    assert_eq!(directories(), 1);
    // The chat can be used again, and only that is known later.
    let anew = setup.run("echo again").await;
    gone(&anew).await;
    let setup = setup.reopened(|config| config).await;
    let infos = |owner: Option<&toolhost_core::ChatId>| setup.registry.list(owner, false, 10).0;
    assert_eq!(
        (
            infos(Some(&a)).len(),
            infos(Some(&b)).len(),
            infos(None).len()
        ),
        (1, 2, 0)
    );
    assert_eq!(infos(Some(&a))[0].id, anew.id());
    let TestRegistry {
        registry,
        workspace,
    } = setup;
    registry.shutdown().await;
    drop(registry);
    let state = kept(workspace.path()).unwrap();
    let stored = state.local().processes(ProcessQuery::all()).await.unwrap();
    assert_eq!(stored.found.len(), 3);
}
