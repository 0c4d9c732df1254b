//! Tests that need the inside of a registry: a disk that hangs, and a start that is held up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::process::{Cause, Command, ExitStatus, WaitOptions};
use toolhost_state::state_dir::StateDir;
use toolhost_store::{Durability, ProcessQuery, ProcessState};

/// Nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Setup {
    registry: Arc<Registry>,
    base: tempfile::TempDir,
}

impl Setup {
    async fn new(limits: Limits) -> Self {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        let state = HostState::open(&state, Durability::Host).unwrap();
        let config = Config {
            limits,
            ..Config::new(base.path())
        };
        let registry = Registry::open(config, &state).await.unwrap();
        Self { registry, base }
    }

    /// Runs a command to the end of all that it started.
    async fn run(&self, command: &str) -> Arc<Process> {
        let command = Command {
            command: command.into(),
            ..Command::default()
        };
        let process = self.registry.start(&chat(), command).await.unwrap();
        let options = WaitOptions {
            timeout: PATIENCE,
            ..WaitOptions::default()
        };
        process.wait(&options).await.unwrap();
        let mut changed = process.changed.subscribe();
        while process.over_since().is_none() {
            changed.changed().await.unwrap();
        }
        process
    }

    fn directories(&self) -> usize {
        let output = self.base.path().join("state/output");
        std::fs::read_dir(output).unwrap().count()
    }
}

fn chat() -> ChatId {
    "a".parse().unwrap()
}

async fn bounded<T>(what: impl Future<Output = T>) -> T {
    let bounded = tokio::time::timeout(PATIENCE, what).await;
    bounded.expect("a disk that hangs must not hold this up")
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_no_end_and_no_upkeep() {
    let idle = Limits {
        retention: Duration::ZERO,
        ..Limits::default()
    };
    let setup = Setup::new(idle).await;
    setup.run("echo hi").await;
    let release = setup.registry.keeper.outputs.hang();
    bounded(setup.registry.tidy_up()).await;
    bounded(setup.registry.end_chat(&chat())).await;
    bounded(setup.registry.shutdown()).await;
    // The work that was not waited for is done when the disk is back.
    drop(release);
    bounded(setup.registry.removals.wait()).await;
    while setup.directories() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Until the disk has all of an output, memory may be the only place that has its end.
#[tokio::test]
async fn memory_is_kept_until_the_output_is_on_disk() {
    let setup = Setup::new(Limits {
        memory: Duration::ZERO,
        ..Limits::default()
    })
    .await;
    let release = setup.registry.keeper.outputs.hang();
    let process = setup.run("echo hi").await;
    let retained = || process.progress().capture.retained();
    setup.registry.tidy_up().await;
    assert_eq!(retained(), 3);
    drop(release);
    process.saved.settled(u64::MAX).await;
    setup.registry.tidy_up().await;
    assert_eq!(retained(), 0);
    assert_eq!(process.read(0, 10).await.data, b"hi\n");
    setup.registry.shutdown().await;
}

/// However many chats there are, outputs that can be read from the disk do not fill the memory.
#[tokio::test]
async fn the_memory_of_ended_processes_is_bounded_over_all_chats() {
    let setup = Setup::new(Limits {
        memory_total: 100 << 10,
        ..Limits::default()
    })
    .await;
    let mut processes = Vec::new();
    for _ in 0..4 {
        let command = "head -c 70000 /dev/zero | tr '\\0' x";
        let process = setup.run(command).await;
        process.saved.settled(u64::MAX).await;
        processes.push(process);
    }
    setup.registry.tidy_up().await;
    let retained: Vec<_> = processes.iter().map(|process| process.retained()).collect();
    assert_eq!(retained, [0, 0, 0, 64 << 10]);
    assert_eq!(processes[0].read(69_990, 100).await.data, b"xxxxxxxxxx");
    setup.registry.shutdown().await;
}

/// Both ends wait for a start that was admitted and has not registered its process yet.
#[tokio::test]
async fn ends_wait_for_starts_that_are_under_way() {
    for whole in [false, true] {
        let setup = Setup::new(Limits::default()).await;
        let registry = &setup.registry;
        let slot = {
            let workspace = Arc::clone(registry.workspace());
            registry.admit(workspace, Some(chat()), None, None)
        }
        .unwrap();
        assert!(slot.is_wanted());
        let ended = AtomicBool::new(false);
        let end = async {
            if whole {
                registry.shutdown().await;
            } else {
                registry.end_chat(&chat()).await;
            }
            ended.store(true, Ordering::SeqCst);
        };
        let start = async {
            while slot.is_wanted() {
                tokio::task::yield_now().await;
            }
            // Whatever the end does on other threads, it has done by now.
            for _ in 0..50 {
                tokio::task::spawn_blocking(|| ()).await.unwrap();
            }
            assert!(!ended.load(Ordering::SeqCst));
            drop(slot);
        };
        tokio::join!(end, start);
    }
}

/// The records that a killed host leaves: the next host says how each process ended, and the one after it says the same.
#[tokio::test]
async fn a_process_that_was_live_is_over_at_the_next_start() {
    let base = tempfile::tempdir().unwrap();
    let state = HostState::temporary(base.path()).unwrap();
    let stored = |id: &str| toolhost_store::Process {
        id: id.into(),
        chat: Some(chat()),
        key: None,
        state: ProcessState::Running,
        command: "sleep 1 &".into(),
        workdir: "/".into(),
        background: false,
        started_ms: 500,
        output: None,
        end: None,
    };
    let status = ExitStatus {
        code: Some(3),
        signal: None,
        cause: Cause::Itself,
    };
    let end = stored::End {
        state: State::Lingering(status.clone()),
        exited_ms: 1000,
        over_ms: None,
        total: 0,
        saved: None,
    };
    let lingering = stored::ended(stored("lingering"), &end);
    for process in [stored("running"), lingering] {
        state.local().add_process(process).await.unwrap();
    }
    for _ in 0..2 {
        let config = Config::new(base.path());
        let registry = Registry::open(config, &state).await.unwrap();
        let get = |id| registry.get(&chat(), id).unwrap();
        assert!(matches!(get("running").state(), State::Lost(_)));
        assert_eq!(get("lingering").state(), State::Exited(status.clone()));
        assert_eq!(get("lingering").info().ran, Duration::from_millis(500));
        registry.shutdown().await;
        let live = ProcessQuery {
            live: true,
            ..ProcessQuery::all()
        };
        let live = state.local().processes(live).await.unwrap();
        assert!(live.found.is_empty(), "{live:?}");
    }
}
