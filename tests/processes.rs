//! The process domain on real processes: ending, draining, capturing, signalling, scopes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost::ChatId;
use toolhost::process::{
    Cause, Command, Config, Error, Limits, Process, Registry, SaveLimits, Saved, Signal, State,
    WaitOptions, Wake,
};

use crate::harness::{PATIENCE, file, is_alive, spawner, until, until_dead};

struct Setup {
    registry: Arc<Registry>,
    workspace: tempfile::TempDir,
}

fn setup() -> Setup {
    with(Limits::default())
}

fn with(limits: Limits) -> Setup {
    configured(|config| Config { limits, ..config })
}

fn configured(change: impl FnOnce(Config) -> Config) -> Setup {
    let workspace = tempfile::tempdir().unwrap();
    let config = Config {
        spawner: Some(spawner()),
        ..Config::new(workspace.path().canonicalize().unwrap())
    };
    Setup {
        registry: Registry::open(change(config)).unwrap(),
        workspace,
    }
}

fn chat(name: &str) -> ChatId {
    name.parse().unwrap()
}

impl Setup {
    async fn start(&self, command: &str) -> Arc<Process> {
        let command = Command {
            command: command.into(),
            ..Command::default()
        };
        self.registry.start(&chat("a"), command).await.unwrap()
    }

    /// Starts a command that ignores SIGTERM, and returns it with the pid of its shell.
    async fn start_stubborn(&self) -> (Arc<Process>, u32) {
        let process = self
            .start("trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done")
            .await;
        (process, self.pid("pid").await)
    }

    async fn run(&self, command: &str) -> (State, String) {
        let process = self.start(command).await;
        finished(&process).await;
        let snapshot = process.snapshot().await;
        (
            snapshot.state,
            String::from_utf8([snapshot.head, snapshot.tail].concat()).unwrap(),
        )
    }

    /// Waits for a line that a command wrote to a file of the workspace: a pid, or just that it is ready.
    async fn written(&self, name: &str) -> String {
        file(&self.workspace.path().join(name))
            .await
            .trim()
            .to_owned()
    }

    async fn pid(&self, name: &str) -> u32 {
        self.written(name).await.parse().unwrap()
    }
}

async fn finished(process: &Process) {
    let options = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    assert_eq!(process.wait(&options).await.unwrap().wake, Wake::Ended);
}

fn code(state: &State) -> i32 {
    match state {
        State::Exited(status) => status.code.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn output_and_exit_code() {
    let setup = setup();
    let (state, output) = setup.run("echo out; echo err >&2; echo more; exit 7").await;
    assert_eq!((code(&state), output.as_str()), (7, "out\nerr\nmore\n"));
}

#[tokio::test]
async fn standard_input_is_empty_or_what_was_given() {
    let setup = setup();
    assert_eq!(setup.run("cat; echo end").await.1, "end\n");
    let stdin = Some(b"given\n".to_vec());
    let command = Command {
        command: "cat; echo end".into(),
        stdin,
        ..Command::default()
    };
    let process = setup.registry.start(&chat("a"), command).await.unwrap();
    finished(&process).await;
    assert_eq!(process.snapshot().await.head, b"given\nend\n");
}

#[tokio::test]
async fn a_signal_is_told_by_name_and_cause() {
    let setup = setup();
    let (state, _) = setup.run("kill -SEGV $$").await;
    let State::Exited(status) = state else {
        panic!("{state:?}")
    };
    assert_eq!(
        (status.code, status.signal.as_deref(), status.cause),
        (None, Some("SIGSEGV"), Cause::Itself)
    );
    let process = setup.start("sleep 1000").await;
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Kill, None)
        .unwrap();
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(
        (status.signal.as_deref(), status.cause),
        (Some("SIGKILL"), Cause::Signalled)
    );
}

#[tokio::test]
async fn finished_when_the_shell_has_exited_not_when_the_pipe_closes() {
    let setup = setup();
    let process = setup.start("sleep 1000 & echo $! > pid; echo hi").await;
    finished(&process).await;
    let snapshot = process.snapshot().await;
    assert!(
        matches!(&snapshot.state, State::Lingering(status) if status.code == Some(0)),
        "{snapshot:?}"
    );
    assert_eq!(snapshot.head, b"hi\n");
    let pid = setup.pid("pid").await;
    assert_eq!(snapshot.survivors.len(), 1);
    assert_eq!(
        (
            snapshot.survivors[0].pid,
            snapshot.survivors[0].command.as_str()
        ),
        (pid, "sleep 1000")
    );
    // It can still be signalled, and its end is noticed.
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Terminate, None)
        .unwrap();
    until_dead(pid).await;
    until("the process has exited", || {
        matches!(process.state(), State::Exited(_)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_survivor_without_the_pipe_is_seen_too() {
    let setup = setup();
    let process = setup
        .start("sleep 1000 >/dev/null 2>&1 & echo $! > pid")
        .await;
    finished(&process).await;
    assert!(
        matches!(process.state(), State::Lingering(_)),
        "{:?}",
        process.state()
    );
    let pid = setup.pid("pid").await;
    assert_eq!(process.snapshot().await.survivors[0].pid, pid);
    setup.registry.shutdown().await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn output_after_the_shell_is_collected() {
    let setup = setup();
    // Written by the child only when the test says so, long after the shell is gone.
    nix::unistd::mkfifo(
        &setup.workspace.path().join("go"),
        nix::sys::stat::Mode::S_IRWXU,
    )
    .unwrap();
    let process = setup.start("(cat go; echo late) & echo early").await;
    finished(&process).await;
    assert_eq!(process.snapshot().await.head, b"early\n");
    std::fs::write(setup.workspace.path().join("go"), "gone\n").unwrap();
    until("the late output is there", || {
        (process.info().total == 16).then_some(())
    })
    .await;
    assert_eq!(process.snapshot().await.head, b"early\ngone\nlate\n");
    until("the process has exited", || {
        matches!(process.state(), State::Exited(_)).then_some(())
    })
    .await;
    assert!(process.read(0, 100).await.end);
}

#[tokio::test]
async fn a_closed_output_is_not_the_end() {
    let setup = setup();
    let process = setup
        .start("echo $$ > pid; exec >/dev/null 2>&1; exec sleep 1000")
        .await;
    let pid = setup.pid("pid").await;
    let mut changes = process.changes();
    while !process.read(0, 1).await.end {
        changes.next().await;
    }
    assert_eq!(process.state(), State::Running);
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Kill, None)
        .unwrap();
    finished(&process).await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_exact_counts() {
    let setup = setup();
    let process = setup.start("seq 1 200000").await;
    finished(&process).await;
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let snapshot = process.snapshot().await;
    assert_eq!(snapshot.total, expected.len() as u64);
    assert!(
        expected.as_bytes().starts_with(&snapshot.head)
            && expected.as_bytes().ends_with(&snapshot.tail)
    );
    assert_eq!(
        (snapshot.head.len(), snapshot.tail.len()),
        (32 * 1024, 32 * 1024)
    );
    // The middle is not in memory, but it was saved.
    assert_eq!(snapshot.saved, Saved::Complete);
    let middle = process.read(40_000, 10).await;
    assert_eq!(
        (middle.offset, middle.data.as_slice()),
        (40_000, &expected.as_bytes()[40_000..40_010])
    );
}

#[tokio::test]
async fn what_is_not_saved_is_a_gap_of_exact_size() {
    let setup = configured(|config| Config {
        save_limits: SaveLimits {
            per_process: 50_000,
            ..SaveLimits::default()
        },
        ..config
    });
    let process = setup.start("seq 1 200000").await;
    finished(&process).await;
    let snapshot = process.snapshot().await;
    assert_eq!(snapshot.saved, Saved::Partial(50_000));
    let last = process.read(49_990, 100).await;
    assert_eq!((last.offset, last.data.len()), (49_990, 10));
    let gap = process.read(50_000, 10).await;
    assert_eq!(gap.offset, snapshot.total - 32 * 1024);
}

#[tokio::test]
async fn a_flood_is_stopped_at_its_limit() {
    let setup = with(Limits {
        output: 1 << 20,
        ..Limits::default()
    });
    let process = setup.start("yes").await;
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(status.cause, Cause::OutputLimit);
}

#[tokio::test]
async fn waits_end_for_what_was_asked() {
    let setup = setup();
    nix::unistd::mkfifo(
        &setup.workspace.path().join("go"),
        nix::sys::stat::Mode::S_IRWXU,
    )
    .unwrap();
    let process = setup.start("echo one; cat go; exec sleep 1000").await;
    let wait = |options: WaitOptions| {
        let process = Arc::clone(&process);
        async move { process.wait(&options).await }
    };
    let long = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    let waited = wait(WaitOptions {
        output: true,
        ..long.clone()
    })
    .await
    .unwrap();
    assert_eq!((waited.wake, waited.state.is_live()), (Wake::Output, true));
    let waited = wait(WaitOptions {
        until: Some("o(n)e".into()),
        ..long.clone()
    })
    .await
    .unwrap();
    assert_eq!((waited.wake, waited.match_end), (Wake::Matched, Some(3)));
    assert_eq!(
        wait(WaitOptions::default()).await.unwrap().wake,
        Wake::TimedOut
    );
    // Nothing past the cursor yet: the wait sleeps until there is.
    let later = tokio::spawn(wait(WaitOptions {
        output: true,
        since: 4,
        ..long.clone()
    }));
    std::fs::write(setup.workspace.path().join("go"), "two\n").unwrap();
    let waited = later.await.unwrap().unwrap();
    assert_eq!((waited.wake, waited.total), (Wake::Output, 8));
    for bad in ["(", &"x".repeat(5000), "(a{1000}){1000}"] {
        let error = wait(WaitOptions {
            until: Some(bad.into()),
            ..long.clone()
        })
        .await
        .unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
    setup.registry.shutdown().await;
}

#[tokio::test]
async fn terminate_becomes_kill_after_the_grace() {
    let setup = setup();
    let (process, pid) = setup.start_stubborn().await;
    setup
        .registry
        .signal(
            &chat("a"),
            process.id(),
            Signal::Terminate,
            Some(Duration::from_millis(50)),
        )
        .unwrap();
    finished(&process).await;
    assert!(!is_alive(pid));
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!(status.cause, Cause::Signalled);
}

#[tokio::test]
async fn terminate_reaches_a_stopped_process_and_its_children() {
    let setup = setup();
    let process = setup
        .start("sleep 1000 & echo $! > child; echo $$ > pid; kill -STOP $$; wait")
        .await;
    let (child, pid) = (setup.pid("child").await, setup.pid("pid").await);
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Terminate, None)
        .unwrap();
    until_dead(pid).await;
    until_dead(child).await;
}

#[tokio::test]
async fn a_handler_of_its_own_decides_the_exit_code() {
    let setup = setup();
    let process = setup
        .start("trap 'echo bye; exit 7' TERM; echo ready > ready; while :; do sleep 0.01; done")
        .await;
    setup.written("ready").await;
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Terminate, None)
        .unwrap();
    finished(&process).await;
    let State::Exited(status) = process.state() else {
        panic!("{:?}", process.state())
    };
    assert_eq!((status.code, status.cause), (Some(7), Cause::Signalled));
    // A signal to what has ended is no error: its state says so.
    let again = setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Kill, None)
        .unwrap();
    assert_eq!(again, process.state());
}

#[tokio::test]
async fn each_signal_arrives() {
    let setup = setup();
    for (signal, name) in [
        (Signal::Interrupt, "INT"),
        (Signal::Hangup, "HUP"),
        (Signal::Quit, "QUIT"),
        (Signal::User1, "USR1"),
        (Signal::User2, "USR2"),
    ] {
        let command = format!(
            "trap 'echo {name}; exit 0' {name}; echo r > ready-{name}; while :; do sleep 0.01; done"
        );
        let process = setup.start(&command).await;
        setup.written(&format!("ready-{name}")).await;
        setup
            .registry
            .signal(&chat("a"), process.id(), signal, None)
            .unwrap();
        finished(&process).await;
        // The shell may say more, as the `sleep` that it waited for got the signal too.
        let output = String::from_utf8(process.snapshot().await.head).unwrap();
        assert!(output.ends_with(&format!("{name}\n")), "{output}");
    }
}

#[tokio::test]
async fn chats_do_not_see_each_other() {
    let setup = setup();
    let process = setup.start("exec sleep 1000").await;
    let (a, b) = (chat("a"), chat("b"));
    assert!(setup.registry.get(&a, process.id()).is_ok());
    let not_found = Error::NotFound(process.id().into());
    assert_eq!(setup.registry.get(&b, process.id()).unwrap_err(), not_found);
    assert_eq!(
        setup
            .registry
            .signal(&b, process.id(), Signal::Kill, None)
            .unwrap_err(),
        not_found
    );
    assert_eq!(setup.registry.list(&b, false, 10), (Vec::new(), 0));
    assert!(setup.registry.end_chat(&b).await.is_empty());
    assert_eq!(process.state(), State::Running);
    let ended = setup.registry.end_chat(&a).await;
    assert_eq!(ended.len(), 1);
    assert!(!process.state().is_live());
    assert!(setup.registry.get(&a, process.id()).is_err());
}

#[tokio::test]
async fn lists_live_ones_first_and_newest_first() {
    let setup = setup();
    let first = setup.start("exec sleep 1000").await;
    let second = setup.start("true").await;
    finished(&second).await;
    let third = setup.start("exec sleep 1000").await;
    let ids = |running_only, max| {
        let (infos, total) = setup.registry.list(&chat("a"), running_only, max);
        (
            infos.into_iter().map(|info| info.id).collect::<Vec<_>>(),
            total,
        )
    };
    assert_eq!(
        ids(false, 10),
        (
            vec![third.id().into(), first.id().into(), second.id().into()],
            3
        )
    );
    assert_eq!(ids(true, 1), (vec![third.id().into()], 2));
    setup.registry.shutdown().await;
}

#[tokio::test]
async fn the_limit_of_live_processes_names_them() {
    let setup = with(Limits {
        live_per_chat: 2,
        ..Limits::default()
    });
    let first = setup.start("exec sleep 1000").await;
    setup.start("exec sleep 2000").await;
    let start = |name: &'static str| {
        let command = Command {
            command: "exec sleep 3000".into(),
            ..Command::default()
        };
        let registry = Arc::clone(&setup.registry);
        async move { registry.start(&chat(name), command).await }
    };
    let Error::Limit(text) = start("a").await.unwrap_err() else {
        panic!()
    };
    assert!(
        text.contains(first.id()) && text.contains("sleep 2000"),
        "{text}"
    );
    start("b").await.expect("another chat has its own limit");
    setup
        .registry
        .signal(&chat("a"), first.id(), Signal::Kill, None)
        .unwrap();
    finished(&first).await;
    start("a").await.unwrap();
    setup.registry.shutdown().await;
}

#[tokio::test]
async fn shutdown_ends_everything_and_refuses_more() {
    let setup = setup();
    let mut pids = Vec::new();
    for index in 0..5 {
        setup
            .start(&format!("sleep 1000 & echo $! > {index}; exec sleep 1000"))
            .await;
        pids.push(setup.pid(&index.to_string()).await);
    }
    assert_eq!(setup.registry.shutdown().await.len(), 5);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
    let command = Command {
        command: "true".into(),
        ..Command::default()
    };
    assert_eq!(
        setup.registry.start(&chat("a"), command).await.unwrap_err(),
        Error::Closed
    );
}

#[tokio::test]
async fn the_environment_is_the_one_that_was_built() {
    let setup = setup();
    let command = Command {
        command:
            "echo $CODER_CHAT_ID $CODER_CHAT_AGENT $TERM $OWN; env | grep -c CARGO_PKG_NAME; pwd"
                .into(),
        env: vec![("OWN".into(), "mine".into())],
        ..Command::default()
    };
    let process = setup.registry.start(&chat("a"), command).await.unwrap();
    finished(&process).await;
    let output = String::from_utf8(process.snapshot().await.head).unwrap();
    let root = setup.workspace.path().canonicalize().unwrap();
    // cargo sets CARGO_PKG_NAME for this test: a variable of the host that no command has any business with.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    assert_eq!(output, format!("a true dumb mine\n0\n{}\n", root.display()));
}

#[tokio::test]
async fn no_descriptor_of_ours_and_no_ignored_signal_is_inherited() {
    const O_CLOEXEC: u32 = 0o2_000_000;
    let setup = setup();
    // SIGPIPE, which Rust programs ignore, must end `yes`, or this would not end.
    let (state, output) = setup.run("yes | head -1; ls /proc/self/fd").await;
    assert_eq!(code(&state), 0);
    // 0, 1, 2, the one with which ls reads the directory, and what this process itself got from its parent: only that is
    // not closed on exec.
    let of_parent = |fd: &u32| {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.is_some_and(|flags| u32::from_str_radix(flags.trim(), 8).unwrap() & O_CLOEXEC == 0)
    };
    let mut lines = output.lines();
    assert_eq!(lines.next(), Some("y"));
    let fds: Vec<u32> = lines.map(|line| line.parse().unwrap()).collect();
    let unexpected: Vec<_> = fds.iter().filter(|fd| **fd > 3 && !of_parent(fd)).collect();
    assert!(
        fds.len() >= 4 && unexpected.is_empty(),
        "{fds:?}: {unexpected:?}"
    );
}

#[tokio::test]
async fn a_bad_start_leaves_nothing() {
    let setup = setup();
    let start = |command: Command| {
        let registry = Arc::clone(&setup.registry);
        async move { registry.start(&chat("a"), command).await.unwrap_err() }
    };
    assert!(matches!(start(Command::default()).await, Error::Invalid(_)));
    let workdir = Some(Path::new("missing").to_owned());
    let error = start(Command {
        command: "true".into(),
        workdir,
        ..Command::default()
    })
    .await;
    assert!(matches!(error, Error::Workdir { .. }), "{error}");
    assert_eq!(setup.registry.list(&chat("a"), false, 10), (Vec::new(), 0));
}

#[tokio::test]
async fn ended_processes_are_forgotten_oldest_first() {
    let setup = with(Limits {
        known_per_chat: 2,
        ..Limits::default()
    });
    let mut ids = Vec::new();
    for _ in 0..4 {
        let process = setup.start("true").await;
        finished(&process).await;
        ids.push(process.id().to_owned());
    }
    setup.registry.tidy_up().await;
    let (infos, _) = setup.registry.list(&chat("a"), false, 10);
    assert_eq!(
        infos.iter().map(|info| &info.id).collect::<Vec<_>>(),
        [&ids[3], &ids[2]]
    );
}

/// Every wake of a waiting guest costs it guest time, so a flood must not wake who waits for the end.
#[tokio::test]
async fn output_does_not_wake_who_waits_for_the_end() {
    let setup = setup();
    let process = setup.start("head -c 200000000 /dev/zero").await;
    let mut polls = 0;
    let options = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    let mut wait = std::pin::pin!(process.wait(&options));
    let counted = std::future::poll_fn(|context| {
        polls += 1;
        wait.as_mut().poll(context)
    });
    assert_eq!(counted.await.unwrap().wake, Wake::Ended);
    assert_eq!(process.snapshot().await.total, 200_000_000);
    assert!(polls < 20, "woken {polls} times");
}

#[tokio::test]
async fn an_ended_process_holds_no_descriptor() {
    const COUNT: usize = 120;
    let setup = setup();
    for _ in 0..COUNT {
        let process = setup.start("true").await;
        finished(&process).await;
    }
    assert_eq!(setup.registry.list(&chat("a"), false, 1).1, COUNT);
    // Other tests of this program have some at the same time, but not nearly as many.
    until("the descriptors are closed", || {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let links = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        let pidfds = links
            .filter(|link| link.to_string_lossy().contains("socket:"))
            .count();
        (pidfds < COUNT / 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_chat_is_ended_also_if_nobody_waits_for_that() {
    let limits = Limits {
        grace: Duration::from_millis(100),
        ..Limits::default()
    };
    let setup = with(limits);
    let (_, pid) = setup.start_stubborn().await;
    let a = chat("a");
    let mut ending = Box::pin(setup.registry.end_chat(&a));
    assert!(futures_util::poll!(ending.as_mut()).is_pending());
    drop(ending);
    assert_eq!(setup.registry.list(&a, false, 10).1, 0);
    // Shutdown knows of it, although the chat is gone.
    setup.registry.shutdown().await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn what_escaped_its_group_does_not_hold_a_place_after_a_kill() {
    let setup = configured(|config| Config {
        spawner: None,
        limits: Limits {
            live_per_chat: 1,
            ..Limits::default()
        },
        ..config
    });
    let process = setup
        .start("setsid sh -c 'echo $$ > pid; exec sleep 1000' & echo hi")
        .await;
    finished(&process).await;
    assert!(
        matches!(process.state(), State::Lingering(_)),
        "{:?}",
        process.state()
    );
    let escaped = setup.pid("pid").await;
    setup
        .registry
        .signal(&chat("a"), process.id(), Signal::Kill, None)
        .unwrap();
    until("the process has exited", || {
        matches!(process.state(), State::Exited(_)).then_some(())
    })
    .await;
    setup.start("true").await;
    // Process groups cannot contain it; that it is still there is what SECURITY.md says.
    assert!(is_alive(escaped));
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(escaped as i32),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_later_terminate_with_a_shorter_grace_counts() {
    let setup = setup();
    let (process, pid) = setup.start_stubborn().await;
    let terminate = |grace| {
        setup
            .registry
            .signal(&chat("a"), process.id(), Signal::Terminate, Some(grace))
            .unwrap()
    };
    for _ in 0..100 {
        terminate(Duration::from_secs(3600));
    }
    terminate(Duration::ZERO);
    finished(&process).await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_list_stays_small_however_long_the_commands_are() {
    let setup = setup();
    let process = setup
        .start(&format!("true # {}", "x".repeat(100_000)))
        .await;
    finished(&process).await;
    assert!(process.command().len() < 3000);
    let (infos, _) = setup.registry.list(&chat("a"), false, 10);
    assert!(infos[0].command.len() < 3000 && infos[0].command.ends_with('…'));
}

#[tokio::test]
async fn a_hurry_takes_the_grace_from_what_is_being_ended() {
    let limits = Limits {
        grace: Duration::from_secs(3600),
        ..Limits::default()
    };
    let setup = with(limits);
    let (_, pid) = setup.start_stubborn().await;
    let mut ending = Box::pin(setup.registry.shutdown());
    assert!(futures_util::poll!(ending.as_mut()).is_pending());
    setup.registry.hurry();
    tokio::time::timeout(PATIENCE, ending)
        .await
        .expect("it waits for the grace");
    assert!(!is_alive(pid));
}
