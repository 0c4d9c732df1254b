//! Kept processes: they run on when their host ends, and the next host takes them over.

mod handing_over;
mod input;
mod limits;
mod refused;

use std::sync::atomic::{AtomicBool, Ordering};

use toolhost_workspace::process::{ProcessEvent, Subject, Subscriber};

use super::*;
use crate::harness::processes::{gone, sh};

/// How long processes are kept, unless a test is about that.
const KEEP: Duration = Duration::from_secs(600);

/// A command that prints the numbers from 1 on, one a line, every 100 ms.
const TICKER: &str = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done";

fn keeping(config: Config) -> Config {
    Config {
        keep: Some(KEEP),
        ..config
    }
}

/// A registry that keeps its processes.
fn kept() -> TestRegistry {
    TestRegistry::kept(keeping)
}

/// Replaces the host.
async fn replaced(setup: TestRegistry) -> TestRegistry {
    resumed(setup.reopened(keeping).await)
}

/// Lets the processes that a host took over move along, as a program does when it subscribes to them.
fn resumed(setup: TestRegistry) -> TestRegistry {
    let nobody: std::sync::Weak<Nobody> = std::sync::Weak::new();
    setup.registry.subscribe(nobody);
    setup
}

#[derive(Debug)]
struct Nobody;

impl Subscriber for Nobody {
    fn event(&self, _: Subject<'_>, _: ProcessEvent<'_>) {}
}

fn get(setup: &TestRegistry, id: &str) -> Arc<Process> {
    setup.registry.get(&chat("a"), id).unwrap()
}

/// Reads from a cursor on until the output has a line of this number, and checks that no line is missing or doubled.
async fn read_until(process: &Process, read: &mut Vec<u8>, last: usize) {
    loop {
        let chunk = process.read(read.len() as u64, 1 << 20).await;
        assert_eq!(chunk.offset, read.len() as u64, "a gap");
        read.extend(chunk.data);
        let text = String::from_utf8(read.clone()).unwrap();
        let complete = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let lines: Vec<usize> = complete.lines().map(|line| line.parse().unwrap()).collect();
        assert!(lines.iter().copied().eq(1..=lines.len()), "{text}");
        if lines.len() >= last {
            return;
        }
        let more = WaitOptions {
            output: true,
            since: read.len() as u64,
            timeout: PATIENCE,
            ..WaitOptions::default()
        };
        assert_eq!(process.wait(&more).await.unwrap().wake, Wake::Output);
    }
}

/// Waits until a process has written this many bytes.
async fn written(process: &Process, bytes: u64) {
    let more = WaitOptions {
        output: true,
        since: bytes - 1,
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    process.wait(&more).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_read_through_replacements_without_a_gap() {
    let mut setup = kept();
    let id = setup.start(TICKER).await.id().to_owned();
    let mut read = Vec::new();
    for round in 1..=4 {
        let process = get(&setup, &id);
        assert_eq!(process.state(), State::Running);
        let at_least = read.iter().filter(|byte| **byte == b'\n').count() + 3;
        read_until(&process, &mut read, at_least).await;
        let info = process.info();
        assert!(info.total >= read.len() as u64, "round {round}");
        setup = replaced(setup).await;
    }
    let process = get(&setup, &id);
    assert_eq!(process.command(), TICKER);
    setup.signal(&process, Signal::Kill);
    finished(&process).await;
    let total = process.info().total;
    let snapshot = process.snapshot().await;
    assert_eq!((snapshot.saved, snapshot.total), (Saved::Complete, total));
    let lines = read.iter().filter(|byte| **byte == b'\n').count();
    read_until(&process, &mut read, lines).await;
    assert_eq!(read.len() as u64, total);
    gone(&process).await;
    setup.registry.shutdown().await;
    let left = std::fs::read_dir(setup.workspace.path().join("state/kept")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["key"]);
}

/// A command writes as fast as it can, and the host is replaced again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_complete() {
    let mut setup = kept();
    let id = setup.start("seq 1 3000000").await.id().to_owned();
    for part in 1..=5 {
        written(&get(&setup, &id), part * 1_000_000).await;
        setup = replaced(setup).await;
    }
    let process = get(&setup, &id);
    finished(&process).await;
    assert_eq!(code(&process.state()), 0);
    let mut expected = Vec::new();
    (1..=3_000_000).for_each(|number: u32| expected.extend(format!("{number}\n").into_bytes()));
    let mut read = Vec::new();
    loop {
        let chunk = process.read(read.len() as u64, 1 << 20).await;
        assert_eq!(chunk.offset, read.len() as u64);
        read.extend(chunk.data);
        if chunk.end {
            break;
        }
    }
    assert!(
        read == expected,
        "{} of {} bytes",
        read.len(),
        expected.len()
    );
    assert_eq!(process.info().total, expected.len() as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_ended_while_no_host_was_there_has_its_status_and_output() {
    let setup = kept();
    let command =
        "echo $$ > pid; echo before; until [ -e go ]; do sleep 0.01; done; seq 1 200000; exit 3";
    let id = setup.start(command).await.id().to_owned();
    let pid = setup.pid("pid").await;
    written(&get(&setup, &id), 7).await;
    setup.registry.shutdown().await;
    assert!(is_alive(pid));
    setup.write("go", b"");
    until_dead(pid).await;
    let setup = replaced(setup).await;
    let process = get(&setup, &id);
    finished(&process).await;
    assert_eq!(code(&process.state()), 3);
    let mut expected = b"before\n".to_vec();
    (1..=200_000).for_each(|number: u32| expected.extend(format!("{number}\n").into_bytes()));
    assert_eq!(process.info().total, expected.len() as u64);
    for _ in 0..2 {
        let chunk = process.read(0, 10 << 20).await;
        assert!(chunk.data == expected && chunk.end, "{}", chunk.data.len());
    }
    let snapshot = process.snapshot().await;
    assert_eq!(snapshot.saved, Saved::Complete);
    assert!(snapshot.tail.ends_with(b"200000\n"));
    // The next host knows it from the store alone.
    let setup = replaced(setup).await;
    assert_eq!(code(&get(&setup, &id).state()), 3);
    assert!(get(&setup, &id).read(0, 10 << 20).await.data == expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_reach_the_whole_tree_after_it_was_taken_over() {
    let setup = kept();
    let command = "sh -c 'echo $$ > inner; sleep 1000 & sleep 1000; :' & setsid sleep 1000 & echo $! > other; echo $$ > pid; wait";
    let id = setup.start(command).await.id().to_owned();
    let mut pids = Vec::new();
    for name in ["inner", "other", "pid"] {
        pids.push(setup.pid(name).await);
    }
    let setup = replaced(setup).await;
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    let process = get(&setup, &id);
    setup.signal(&process, Signal::Terminate);
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGTERM"), Cause::Signalled)
    );
    for pid in pids {
        until_dead(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_outlives_its_shell_is_kept_as_well() {
    let setup = kept();
    let process = setup.run("sleep 1000 & echo $! > pid; exit 4").await;
    assert_lingers(&process);
    let (id, pid) = (process.id().to_owned(), setup.pid("pid").await);
    drop(process);
    let setup = replaced(setup).await;
    let process = get(&setup, &id);
    // Its supervisor says so again.
    finished(&process).await;
    assert_lingers(&process);
    let survivors = process.snapshot().await.survivors;
    assert_eq!((survivors[0].pid, survivors.len()), (pid, 1));
    setup.signal(&process, Signal::Kill);
    gone(&process).await;
    assert_eq!(code(&process.state()), 4);
    until_dead(pid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_host_for_too_long_it_is_ended() {
    let brief = |config| Config {
        keep: Some(Duration::from_secs(1)),
        ..config
    };
    let setup = TestRegistry::kept(brief);
    let id = setup
        .start("sleep 1000 & echo $! > other; trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done")
        .await
        .id()
        .to_owned();
    let pids = [setup.pid("pid").await, setup.pid("other").await];
    setup.registry.shutdown().await;
    for pid in pids {
        until_dead(pid).await;
    }
    let setup = resumed(setup.reopened(brief).await);
    let State::Exited(status) = get(&setup, &id).state() else {
        panic!("{:?}", get(&setup, &id).state())
    };
    assert_eq!(status.signal.as_deref(), Some("SIGKILL"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_tell_of_it() {
    /// Whether the end of a process with five bytes of output was told.
    #[derive(Debug, Default)]
    struct Ended(AtomicBool);
    impl Subscriber for Ended {
        fn event(&self, _: Subject<'_>, event: ProcessEvent<'_>) {
            if let ProcessEvent::Changed {
                state: State::Exited(_),
                total: 5,
            } = event
            {
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
    let setup = kept();
    let id = setup
        .start("until [ -e go ]; do sleep 0.01; done; echo done")
        .await
        .id()
        .to_owned();
    let setup = setup.reopened(keeping).await;
    // It ends before anything is told of it.
    let ended = Arc::new(Ended::default());
    setup.write("go", b"");
    let weak: std::sync::Weak<Ended> = Arc::downgrade(&ended);
    setup.registry.subscribe(weak);
    finished(&get(&setup, &id)).await;
    assert!(ended.0.load(Ordering::Relaxed));
}
