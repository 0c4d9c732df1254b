//! Output that is written around the end of a shell, and after it.

use std::io::Write;
use std::time::Duration;

use toolhost_workspace::process::State;

use super::{TestRegistry, finished};
use crate::harness::PATIENCE;

/// A child that goes on writing in steps that are shorter than the patience of the drain, but longer together. The clock of the
/// host moves only when this test moves it, so no other load on the machine makes a step longer.
#[tokio::test(start_paused = true)]
async fn a_child_that_writes_for_480_ms_after_the_shell_is_heard_to_its_end() {
    /// Less than the 100 ms of silence that end a drain.
    const STEP: Duration = Duration::from_millis(80);
    let clock = Standing::new();
    let setup = TestRegistry::with(|config| config);
    let go = setup.workspace.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let process = setup
        .start("(while read -r step; do echo late $step; done) < go & echo early")
        .await;
    let mut steps = std::fs::File::options().write(true).open(&go).unwrap();
    seen(|| process.info().exited.is_some()).await;
    let mut expected = "early\n".to_owned();
    for step in 1..=6 {
        seen(|| process.info().total == expected.len() as u64).await;
        tokio::time::advance(STEP).await;
        expected.push_str(&format!("late {step}\n"));
        writeln!(steps, "{step}").unwrap();
    }
    drop(steps);
    finished(&process).await;
    let snapshot = process.snapshot().await;
    assert_eq!(String::from_utf8_lossy(&snapshot.head), expected);
    clock.goes_on().await;
}

/// A paused clock that stands still: otherwise it goes on by itself when nothing is left to do.
struct Standing {
    release: std::sync::mpsc::Sender<()>,
    blocking: tokio::task::JoinHandle<()>,
}

impl Standing {
    fn new() -> Self {
        let (release, released) = std::sync::mpsc::channel();
        Self {
            release,
            blocking: tokio::task::spawn_blocking(move || _ = released.recv()),
        }
    }

    /// Lets the clock go on by itself.
    async fn goes_on(self) {
        drop(self.release);
        self.blocking.await.unwrap();
    }
}

/// Waits for something while the clock stands still.
async fn seen(mut look: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !look() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain");
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A host that was busy finds output, the end of the output and the end of its own patience at the same moment. What is in
/// the pipe by then counts.
#[tokio::test(start_paused = true)]
async fn what_is_in_the_pipe_when_a_busy_host_looks_again_is_in_the_snapshot() {
    for round in 0..10 {
        let clock = Standing::new();
        let setup = TestRegistry::with(|config| config);
        let go = setup.workspace.path().join("go");
        nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let process = setup
            .start("(cat go; echo late; echo done > done) & echo early")
            .await;
        seen(|| process.info().exited.is_some()).await;
        // The drain has begun and waits for 100 ms of silence. Now this only thread of the runtime does something else, as
        // one on a busy machine does, until after that; the child writes meanwhile.
        std::fs::write(&go, "gone\n").unwrap();
        while std::fs::read_to_string(setup.workspace.path().join("done")).is_err() {
            std::thread::yield_now();
        }
        tokio::time::advance(Duration::from_millis(150)).await;
        finished(&process).await;
        let snapshot = process.snapshot().await;
        assert_eq!(
            String::from_utf8_lossy(&snapshot.head),
            "early\ngone\nlate\n",
            "round {round}, {:?}",
            snapshot.state
        );
        assert!(!matches!(snapshot.state, State::Running));
        clock.goes_on().await;
        setup.registry.shutdown().await;
    }
}
