//! Starting a command, and what counts as its end.

use super::*;
use crate::harness::UNTIL_IT_SLEEPS;

#[tokio::test]
async fn output_and_exit_code() {
    let setup = TestRegistry::new();
    let (state, output) = setup
        .output_of("echo out; echo err >&2; echo more; exit 7")
        .await;
    assert_eq!((code(&state), output.as_str()), (7, "out\nerr\nmore\n"));
}

#[tokio::test]
async fn standard_input_is_empty_or_what_was_given() {
    let setup = TestRegistry::new();
    assert_eq!(setup.output_of("cat; echo end").await.1, "end\n");
    let stdin = Stdin::Bytes(b"given\n".to_vec());
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
async fn finished_when_the_shell_has_exited_not_when_the_pipe_closes() {
    let setup = TestRegistry::new();
    let command = format!("sleep 1000 & echo $! > pid; {UNTIL_IT_SLEEPS}; echo hi");
    let process = setup.start(&command).await;
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
    setup.signal(&process, Signal::Terminate);
    until_dead(pid).await;
    until("the process has exited", || {
        matches!(process.state(), State::Exited(_)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_survivor_without_the_pipe_is_seen_too() {
    let setup = TestRegistry::new();
    let process = setup
        .start("sleep 1000 >/dev/null 2>&1 & echo $! > pid")
        .await;
    finished(&process).await;
    assert_lingers(&process);
    let pid = setup.pid("pid").await;
    assert_eq!(process.snapshot().await.survivors[0].pid, pid);
    setup.registry.shutdown().await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn output_after_the_shell_is_collected() {
    let setup = TestRegistry::new();
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
    let setup = TestRegistry::new();
    let process = setup
        .start("echo $$ > pid; exec >/dev/null 2>&1; exec sleep 1000")
        .await;
    let pid = setup.pid("pid").await;
    while !process.read(0, 1).await.end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(process.state(), State::Running);
    setup.signal(&process, Signal::Kill);
    finished(&process).await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn the_environment_is_the_one_that_was_built() {
    // A variable of the host that no command has any business with.
    let host = std::env::vars_os().chain([("FOREIGN".into(), "x".into())]);
    let environment = Environment::from_host(host, &Extras::default());
    let setup = TestRegistry::with(|config| Config {
        environment,
        ..config
    });
    let command = Command {
        command: "echo $CODER_CHAT_ID $CODER_CHAT_AGENT $TERM $OWN; env | grep -c FOREIGN; pwd"
            .into(),
        env: vec![("OWN".into(), "mine".into())],
        ..Command::default()
    };
    let process = setup.registry.start(&chat("a"), command).await.unwrap();
    finished(&process).await;
    let output = String::from_utf8(process.snapshot().await.head).unwrap();
    let root = setup.workspace.path().canonicalize().unwrap();
    assert_eq!(output, format!("a true dumb mine\n0\n{}\n", root.display()));
}

#[tokio::test]
async fn no_descriptor_of_ours_and_no_ignored_signal_is_inherited() {
    const O_CLOEXEC: u32 = 0o2_000_000;
    let setup = TestRegistry::new();
    // SIGPIPE, which Rust programs ignore, must end `yes`, or this would not end.
    let (state, output) = setup.output_of("yes | head -1; ls /proc/self/fd").await;
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
    let setup = TestRegistry::new();
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
    let error = start(Command {
        command: "true".into(),
        workdir: Some("a/".repeat(10_000).into()),
        ..Command::default()
    })
    .await;
    assert!(error.to_string().len() < 100, "{error}");
    assert_eq!(setup.registry.list(&chat("a"), false, 10), (Vec::new(), 0));
}
