//! What is written around the end of a shell, and after it.

use std::time::Duration;

use toolhost::process::State;

use super::{Setup, finished};
use crate::harness::until;

/// A child that goes on writing in steps that are shorter than the patience of the drain. It notes its own steps, so that a
/// machine that was too busy to run it in time is told from output that was lost.
#[tokio::test]
async fn a_child_that_writes_for_300_ms_after_the_shell_is_heard_to_its_end() {
    const CHILD: &str = "date +%s%N > times; (for i in 1 2 3 4 5 6; do sleep 0.05; date +%s%N >> times; echo late $i; done) & echo early";
    let expected: String = ["early\n".to_owned()]
        .into_iter()
        .chain((1..=6).map(|step| format!("late {step}\n")))
        .collect();
    for _ in 0..20 {
        let setup = Setup::with(|config| config);
        let process = setup.run(CHILD).await;
        let snapshot = process.snapshot().await;
        if snapshot.head == expected.as_bytes() {
            assert!(process.read(0, 1).await.total == expected.len() as u64);
            return;
        }
        until("the child has ended", || {
            (!process.state().is_live()).then_some(())
        })
        .await;
        // Nothing is lost even then, it is only late.
        assert_eq!(process.snapshot().await.head, expected.as_bytes());
        let times = std::fs::read_to_string(setup.workspace.path().join("times")).unwrap();
        let times: Vec<u64> = times.lines().map(|line| line.parse().unwrap()).collect();
        let slow = times.windows(2).any(|pair| pair[1] - pair[0] > 80_000_000);
        assert!(slow, "the drain ended early: {snapshot:?}");
    }
    println!("skipped: this machine is too busy to run a child every 50 ms");
}

/// A host that was busy finds output, the end of the output and the end of its own patience at the same moment. What is in
/// the pipe by then counts.
#[tokio::test]
async fn what_is_in_the_pipe_when_a_busy_host_looks_again_is_in_the_snapshot() {
    for round in 0..10 {
        let setup = Setup::with(|config| config);
        let go = setup.workspace.path().join("go");
        nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let process = setup
            .start("(cat go; echo late; echo done > done) & echo early")
            .await;
        until("the exit is known", || process.info().exited).await;
        // The drain has begun and waits for 100 ms of silence. Now this only thread of the runtime does something else, as
        // one on a busy machine does, until well after that; the child writes meanwhile.
        std::fs::write(&go, "gone\n").unwrap();
        let begun = std::time::Instant::now();
        while std::fs::read_to_string(setup.workspace.path().join("done")).is_err()
            || begun.elapsed() < Duration::from_millis(150)
        {
            std::thread::yield_now();
        }
        finished(&process).await;
        let snapshot = process.snapshot().await;
        assert_eq!(
            String::from_utf8_lossy(&snapshot.head),
            "early\ngone\nlate\n",
            "round {round}, {:?}",
            snapshot.state
        );
        assert!(!matches!(snapshot.state, State::Running));
        setup.registry.shutdown().await;
    }
}
