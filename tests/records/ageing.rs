//! Ended processes and idle chats: the parts that `tidy_up` removes, and those that it leaves.

use std::sync::Arc;
use std::time::Duration;

use toolhost_local::process::{Config, Limits, Process, SaveLimits};
use toolhost_workspace::process::{AllQuery, Saved, Signal, Snapshot, State, WaitOptions, Wake};

use super::{TestRegistry, chat, gone, read_all, sh};
use crate::harness::{file, is_alive, until};

fn limited(config: Config, limits: Limits) -> Config {
    Config { limits, ..config }
}

fn at_once() -> Limits {
    Limits {
        memory: Duration::ZERO,
        ..Limits::default()
    }
}

#[tokio::test]
async fn freed_memory_changes_no_byte_and_no_window() {
    for kept in [false, true] {
        let setup = if kept {
            TestRegistry::kept(|config| limited(config, at_once()))
        } else {
            TestRegistry::with(|config| limited(config, at_once()))
        };
        let commands = [
            "true",
            "echo hi",
            "head -c 32768 /dev/urandom",
            "head -c 32769 /dev/urandom",
            "head -c 65536 /dev/urandom",
            "head -c 65537 /dev/urandom",
            "seq 1 300000",
        ];
        let mut before: Vec<(Arc<Process>, Snapshot, Vec<u8>)> = Vec::new();
        for command in commands {
            let process = setup.run(command).await;
            gone(&process).await;
            let bytes = read_all(&process).await;
            before.push((Arc::clone(&process), process.snapshot().await, bytes));
        }
        setup.registry.tidy_up().await;
        for (process, snapshot, bytes) in before {
            assert_eq!(snapshot.saved, Saved::Complete);
            assert!(
                process.snapshot().await == snapshot,
                "{}",
                process.command()
            );
            assert!(read_all(&process).await == bytes, "{}", process.command());
            let end = process.read(snapshot.total, 10).await;
            assert!(end.end && end.data.is_empty() && end.offset == snapshot.total);
        }
        setup.registry.shutdown().await;
    }
}

/// What was not saved is in memory alone, so memory keeps it for as long as the output is kept.
#[tokio::test]
async fn freed_memory_does_not_take_the_end_of_what_was_not_all_saved() {
    let setup = TestRegistry::with(|config| Config {
        save_limits: SaveLimits {
            per_process: 50_000,
            ..SaveLimits::default()
        },
        ..limited(config, at_once())
    });
    let process = setup.run("seq 1 200000").await;
    gone(&process).await;
    let before = process.snapshot().await;
    let last = process.read(before.total - 100, 100).await;
    setup.registry.tidy_up().await;
    assert!(
        process.snapshot().await == before,
        "the windows have changed"
    );
    assert_eq!(process.read(before.total - 100, 100).await, last);
}

/// Lets so much time pass as the registry sees it.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_runs_in_an_idle_chat_is_ended_and_others_are_not() {
    let setup = TestRegistry::kept(|config| config);
    let process = setup.start("echo $$ > pid; echo hi; exec sleep 1000").await;
    let pid = file(&setup.workspace.path().join("pid")).await;
    let pid: u32 = pid.trim().parse().unwrap();
    let sleep = || sh("exec sleep 1000");
    let start = |owner| setup.registry.start(owner, sleep());
    let names = ["asked", "found", "waited"].map(chat);
    let mut others = Vec::new();
    for name in &names {
        others.push(start(Some(name)).await.unwrap());
    }
    let of_none = start(None).await.unwrap();
    let waiting = Arc::clone(&others[2]);
    let waiting = tokio::spawn(async move {
        let options = WaitOptions {
            timeout: Duration::MAX,
            ..WaitOptions::default()
        };
        waiting.wait(&options).await.unwrap().wake
    });
    let idle = Limits::default().idle_chat;
    pass(idle - MINUTE).await;
    setup.registry.get(&names[0], others[0].id()).unwrap();
    setup.registry.find(others[1].id()).unwrap();
    setup.registry.list_all(&AllQuery::default());
    pass(2 * MINUTE).await;
    setup.registry.tidy_up().await;
    // This call or the upkeep of the registry has ended it.
    gone(&process).await;
    assert!(!is_alive(pid));
    for other in others.iter().chain([&of_none]) {
        assert_eq!(other.state(), State::Running, "a chat in use is not idle");
    }
    pass(idle + MINUTE).await;
    setup.registry.tidy_up().await;
    gone(&others[0]).await;
    assert_eq!(others[2].state(), State::Running);
    setup.registry.shutdown().await;
    assert_eq!(waiting.await.unwrap(), Wake::Ended);
}

/// That nobody asks for a chat takes no output from it before its time, and no state for as long again.
#[tokio::test]
async fn an_idle_chat_stays_known_until_long_after_its_outputs() {
    let setup = TestRegistry::kept(|config| config);
    let process = setup.run("echo hi").await;
    gone(&process).await;
    let limits = Limits::default();
    let known = || setup.registry.list_all(&AllQuery::default()).total;
    pass(limits.retention - MINUTE).await;
    let last = setup.run("echo last").await;
    gone(&last).await;
    pass(2 * MINUTE).await;
    setup.registry.tidy_up().await;
    assert!(process.info().expired && !last.info().expired);
    pass(limits.retention - 3 * MINUTE).await;
    setup.registry.tidy_up().await;
    assert_eq!((read_all(&last).await.len(), known()), (5, 2));
    pass(4 * MINUTE).await;
    setup.registry.tidy_up().await;
    assert!(last.info().expired);
    assert_eq!(known(), 1, "the older one is forgotten, as nobody asks");
    pass(limits.retention).await;
    setup.registry.tidy_up().await;
    assert_eq!(known(), 0);
    let directory = setup.output_directory();
    until("nothing is left on the disk", || {
        (std::fs::read_dir(&directory).unwrap().count() == 0).then_some(())
    })
    .await;
    let setup = setup.reopened(|config| config).await;
    assert_eq!(setup.registry.list_all(&AllQuery::default()).total, 0);
}

/// A server that is started first and ends last has the newest output.
#[tokio::test]
async fn what_ends_last_is_kept_longest() {
    let limits = Limits {
        ended_per_chat: 2,
        known_per_chat: 3,
        ..at_once()
    };
    let setup = TestRegistry::kept(|config| limited(config, limits.clone()));
    let server = setup.start("echo serving; exec sleep 1000").await;
    let wrote = || (server.info().total == 8).then_some(());
    until("the server has written its line", wrote).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let process = setup.run("echo hi").await;
        gone(&process).await;
        others.push(process);
    }
    setup
        .registry
        .signal(&chat("a"), server.id(), Signal::Kill, None)
        .unwrap();
    gone(&server).await;
    let expired = |process: &Arc<Process>| process.info().expired;
    setup.registry.tidy_up().await;
    assert_eq!(
        others.iter().map(expired).collect::<Vec<_>>(),
        [true, true, false]
    );
    assert_eq!(read_all(&server).await, b"serving\n");
    assert!(setup.registry.get(&chat("a"), others[0].id()).is_err());
    // So it is after a restart.
    let id = server.id().to_owned();
    let limits = Limits {
        ended_per_chat: 1,
        ..limits
    };
    let setup = setup.reopened(|config| limited(config, limits)).await;
    setup.registry.tidy_up().await;
    let server = setup.registry.get(&chat("a"), &id).unwrap();
    assert_eq!(read_all(&server).await, b"serving\n");
}

/// What outlives its shell is not old when it ends, however long ago the shell exited.
#[tokio::test]
async fn an_output_ages_from_the_end_of_all_that_wrote_it() {
    let setup = TestRegistry::with(|config| config);
    let process = setup.run("sleep 1000 & echo hi").await;
    assert!(matches!(process.state(), State::Lingering(_)));
    pass(Limits::default().retention - MINUTE).await;
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Kill, None)
        .unwrap();
    gone(&process).await;
    pass(2 * MINUTE).await;
    setup.registry.tidy_up().await;
    assert!(!process.info().expired);
    assert_eq!(read_all(&process).await, b"hi\n");
}

#[tokio::test]
async fn expired_outputs_are_gone_and_their_states_are_not() {
    let limits = Limits {
        ended_per_chat: 2,
        known_per_chat: 3,
        ..at_once()
    };
    let setup = TestRegistry::kept(|config| limited(config, limits.clone()));
    let mut processes = Vec::new();
    for index in 0..5 {
        let process = setup
            .run(&format!("echo number {index}; exit {index}"))
            .await;
        gone(&process).await;
        processes.push(process);
    }
    setup.registry.tidy_up().await;
    let (infos, total) = setup.registry.list(&chat("a"), false, 10);
    let codes = infos
        .iter()
        .map(|info| info.state.exit_status().unwrap().code.unwrap());
    assert_eq!((codes.collect::<Vec<_>>(), total), (vec![4, 3, 2], 3));
    let expired = &processes[2];
    assert!(expired.info().expired && !processes[3].info().expired);
    let snapshot = expired.snapshot().await;
    assert_eq!(
        (snapshot.total, snapshot.head.len(), &snapshot.saved),
        (9, 0, &Saved::None)
    );
    let chunk = expired.read(0, 10).await;
    assert_eq!((chunk.offset, chunk.data.len(), chunk.end), (9, 0, true));
    let files = || {
        let chats = std::fs::read_dir(setup.output_directory()).unwrap();
        chats
            .flat_map(|chat| std::fs::read_dir(chat.unwrap().path()).unwrap())
            .count()
    };
    until("the files are gone", || (files() == 2).then_some(())).await;
    let ids: Vec<_> = processes
        .iter()
        .map(|process| process.id().to_owned())
        .collect();
    let setup = setup.reopened(|config| limited(config, limits)).await;
    for (index, id) in ids.iter().enumerate() {
        let Ok(process) = setup.registry.get(&chat("a"), id) else {
            assert!(index < 2, "{index} is forgotten");
            continue;
        };
        assert_eq!(
            process.state().exit_status().unwrap().code,
            Some(index as i32)
        );
        assert_eq!(process.info().expired, index == 2);
        let expected = if index == 2 {
            String::new()
        } else {
            format!("number {index}\n")
        };
        assert_eq!(read_all(&process).await, expected.as_bytes());
    }
}

#[tokio::test]
async fn retention_takes_outputs_by_their_age() {
    let setup = TestRegistry::kept(|config| {
        limited(
            config,
            Limits {
                retention: Duration::ZERO,
                ..Limits::default()
            },
        )
    });
    let process = setup.run("seq 1 100000").await;
    gone(&process).await;
    let running = setup.start("echo hi; exec sleep 1000").await;
    setup.registry.tidy_up().await;
    assert!(process.info().expired && !running.info().expired);
    assert_eq!(process.state().exit_status().unwrap().code, Some(0));
    assert!(process.snapshot().await.head.is_empty());
    setup.registry.shutdown().await;
}
