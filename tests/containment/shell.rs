//! The surroundings of a shell: descriptors, signals and variables that its supervisor gives it, and none beside them.

use toolhost_workspace::process::{Command, Error, MAX_COMMAND, State, Stdin};

use super::bench::{Bench, chat, finished, output};
use super::survivors::{contains, pids, unique};
use crate::harness::file;

/// Signals 32 and 33, of which only the C library says what they do: whoever starts a host that ignores them keeps that.
const OF_THE_C_LIBRARY: u64 = 0b11 << 31;

/// Returns the field of a status of `/proc`.
fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {status}"))
        .trim()
}

#[tokio::test]
async fn a_shell_has_a_session_of_its_own_and_no_signal_of_ours() {
    let bench = Bench::new();
    // Read by a program in the place of the shell: bash itself ignores SIGQUIT.
    let (_, status) = bench
        .run("exec cat /proc/self/status /proc/self/stat")
        .await;
    for name in ["SigBlk:", "SigIgn:", "SigPnd:", "ShdPnd:"] {
        let signals = u64::from_str_radix(field(&status, name), 16).unwrap();
        assert_eq!(signals & !OF_THE_C_LIBRARY, 0, "{name}");
    }
    let stat = status.lines().last().unwrap();
    let (pid, rest) = stat.split_once(" (").unwrap();
    let fields: Vec<_> = rest.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!([fields[2], fields[3]], [pid, pid], "group and session");
    assert_eq!(fields[4], "0", "it has a terminal");
}

#[tokio::test]
async fn a_shell_has_three_descriptors() {
    let bench = Bench::new();
    // The shell lists its own, without one that a program would open.
    let (_, listed) = bench
        .run("for fd in /proc/$$/fd/*; do echo ${fd##*/}; done")
        .await;
    let mut fds: Vec<u32> = listed.lines().map(|line| line.parse().unwrap()).collect();
    // The directory that the shell reads for the pattern is open while it does that.
    fds.retain(|fd| *fd < 3 || !is_own_directory(&listed, *fd));
    let (_, three) = bench.run("exec ls /proc/self/fd").await;
    let three: Vec<_> = three.lines().collect();
    // `ls` opens the directory as the first free one.
    assert_eq!(three, ["0", "1", "2", "3"]);
    assert_eq!(fds.iter().filter(|fd| **fd < 3).count(), 3, "{listed}");
}

/// Whether a shell may have had it open for a pattern: it is the only one above 2.
fn is_own_directory(listed: &str, fd: u32) -> bool {
    let above = listed
        .lines()
        .filter_map(|line| line.parse::<u32>().ok())
        .filter(|fd| *fd > 2);
    above.eq([fd])
}

#[tokio::test]
async fn a_shell_is_nicer_than_its_host_and_leaves_no_core() {
    let bench = Bench::new();
    let script = "ulimit -H -c; ulimit -S -c; nice; cat /proc/$$/oom_score_adj";
    let (_, said) = bench.run(script).await;
    let said: Vec<i32> = said.lines().map(|line| line.parse().unwrap()).collect();
    let own = rustix_nice();
    assert_eq!(said[..2], [0, 0], "core");
    assert_eq!(said[2], (own + 5).min(19), "nice");
    assert!(said[3] >= 500, "{said:?}");
}

/// The niceness of this process.
fn rustix_nice() -> i32 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[16].parse().unwrap()
}

#[tokio::test]
async fn nothing_of_a_command_shows_above_its_shell() {
    let bench = Bench::new();
    let (word, secret) = (unique(), unique());
    let command = Command {
        command: format!(": {word}; echo $PPID > supervisor; exec 1>&-; read x"),
        env: vec![("SECRET".into(), secret.clone())],
        // It reads from a FIFO that nobody writes to.
        ..Command::default()
    };
    let mut command = command;
    command.command = format!("mkfifo wait; {} < wait", command.command);
    let process = bench.registry.start(&chat(), command).await.unwrap();
    let supervisor: u32 = file(&bench.path("supervisor"))
        .await
        .trim()
        .parse()
        .unwrap();
    let names = |pid: u32, what: &str| {
        let text = std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        contains(&text, word.as_bytes()) || contains(&text, secret.as_bytes())
    };
    let with_word: Vec<_> = pids()
        .into_iter()
        .filter(|pid| names(*pid, "cmdline"))
        .collect();
    assert_eq!(with_word.len(), 1, "only the shell: {with_word:?}");
    for pid in [supervisor, bench.spawner.pid()] {
        assert!(!with_word.contains(&pid));
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        assert_eq!(line, b"toolhost\0spawner\0");
        // Readable by root alone.
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(environment.is_empty(), "{pid}: {environment:?}");
    }
    // The same as a command sees it.
    let (_, seen) = bench
        .run(&format!(
            "cat /proc/{supervisor}/environ 2>/dev/null; tr '\\0' ' ' < /proc/{supervisor}/cmdline"
        ))
        .await;
    assert_eq!(seen, "toolhost spawner ");
    assert_eq!(process.state(), State::Running);
    bench.registry.shutdown().await;
}

#[tokio::test]
async fn a_kill_of_its_own_group_hits_only_the_shell() {
    let bench = Bench::new();
    let bystander = bench.start("sleep 1000").await;
    let (state, _) = bench.run("kill -9 0").await;
    let status = state.exit_status().expect("it is not lost");
    assert_eq!(status.signal.as_deref(), Some("SIGKILL"));
    assert_eq!(bystander.state(), State::Running);
    bench.works().await;
    bench.registry.shutdown().await;
}

#[tokio::test]
async fn a_command_of_the_largest_size_runs_and_no_larger_one() {
    let bench = Bench::new();
    let (head, tail) = (": '", "'; echo ran; ls /proc/self/fd | tr '\\n' ' '");
    let text = |size: usize| {
        let filling = "x".repeat(size - head.len() - tail.len());
        format!("{head}{filling}{tail}")
    };
    for size in [131_071, 131_072, MAX_COMMAND] {
        let (_, said) = bench.run(&text(size)).await;
        assert_eq!(said, "ran\n0 1 2 3 ", "{size}");
    }
    let error = bench.try_start(&text(MAX_COMMAND + 1)).await.unwrap_err();
    let Error::Invalid(text) = error else {
        panic!("{error:?}")
    };
    assert!(
        text.contains("1048577") && text.contains("1048576"),
        "{text}"
    );
}

#[tokio::test]
async fn a_large_standard_input_arrives() {
    let bench = Bench::new();
    let stdin: Vec<u8> = (0..1 << 20).map(|index: u32| (index % 251) as u8).collect();
    let command = Command {
        command: "cat > copy; echo done".into(),
        stdin: Stdin::Bytes(stdin.clone()),
        ..Command::default()
    };
    let process = bench.registry.start(&chat(), command).await.unwrap();
    finished(&process).await;
    assert_eq!(output(&process).await, "done\n");
    assert!(std::fs::read(bench.path("copy")).unwrap() == stdin);
}
