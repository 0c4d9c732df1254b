//! The whole host as a user of its own, whose commands may signal all of it, and read what it does not hide.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use toolhost_needs::needs;

use super::commands::python;
use super::escapes::{Marked, go};
use super::program::{Program, Start};
use super::survivors::{kill_one, pids, unique};
use crate::harness::{copy_for_others, file, is_alive, until, until_dead};

/// Users that nobody is, one for each test: what one does to its user must not meet another.
const KILLER: u32 = 64_321;
const READER: u32 = 64_322;
const BYSTANDER: u32 = 64_323;

/// A user for as long as a test runs.
struct User(u32);

impl User {
    /// Only root can be somebody else, and only a user that nobody is.
    fn take(uid: u32) -> Self {
        assert!(nix::unistd::geteuid().is_root(), "it needs root");
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let taken = users
            .lines()
            .any(|line| line.split(':').nth(2) == Some(&uid.to_string()));
        assert!(!taken && processes(uid).is_empty(), "user {uid} is taken");
        Self(uid)
    }
}

/// Something that sleeps as a user.
fn sleep(uid: u32, env: &[(&str, &str)]) -> Bystander {
    let mut command = Command::new("sleep");
    command
        .arg("1000")
        .env_clear()
        .envs(env.iter().copied())
        .current_dir("/");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Bystander(command.uid(uid).gid(uid).spawn().unwrap())
}

impl Drop for User {
    /// Leaves nothing of the user, also where a test fails.
    fn drop(&mut self) {
        assert!([KILLER, READER, BYSTANDER].contains(&self.0));
        for _ in 0..1000 {
            let left = processes(self.0);
            if left.is_empty() {
                return;
            }
            left.into_iter()
                .for_each(|pid| kill_one(pid, Signal::SIGKILL));
            std::thread::yield_now();
        }
    }
}

struct Bystander(Child);

impl Bystander {
    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What lives of a user.
fn processes(uid: u32) -> Vec<u32> {
    let of_user = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        line.is_some_and(|line| line.split_whitespace().any(|one| one == uid.to_string()))
    };
    let living = |pid: &u32| is_alive(*pid);
    pids().into_iter().filter(of_user).filter(living).collect()
}

/// A host of this user.
async fn host(
    user: &User,
    directory: &tempfile::TempDir,
    env: Vec<(&'static str, String)>,
) -> Program {
    Program::start_as(Start {
        program: copy_for_others(directory.path()),
        env,
        owner: Some(user.0),
        cgroup: true,
    })
    .await
}

/// `kill -9 -1` is a signal to all that the user may signal: nothing of this user can hold what sent it, which alone is
/// left. Nobody else's is touched.
#[needs(root)]
#[tokio::test]
async fn a_command_that_kills_its_user_ends_the_host_and_nobody_else() {
    let (killer, other) = (User::take(KILLER), User::take(BYSTANDER));
    let bystanders = [sleep(other.0, &[]), sleep(0, &[])];
    let directory = tempfile::tempdir().unwrap();
    let program = host(&killer, &directory, Vec::new()).await;
    let spawner = program.spawner();
    let first = Marked::new(program.workspace.path());
    let first_text = "echo $PPID > supervisor; setsid sleep 1000 & sleep 1000";
    open_to(&killer, &program);
    program.start(&first.text(first_text)).await;
    let supervisor: u32 = file(&program.path("supervisor"))
        .await
        .trim()
        .parse()
        .unwrap();
    first.runs("sleep 1000", 2).await;
    let text = "mkfifo go; echo $$ > shell; read x < go; kill -9 -1; echo $? > killed; sleep 1000";
    program.start(text).await;
    let shell: u32 = file(&program.path("shell")).await.trim().parse().unwrap();
    go(&program.path("go")).await;
    program.ended().await;
    for pid in [spawner, supervisor] {
        until_dead(pid).await;
    }
    first
        .until_gone("a command of a user that was killed", supervisor)
        .await;
    // The shell goes on, with what it starts from now on: no process signals itself that way.
    assert_eq!(file(&program.path("killed")).await, "0\n");
    until("only the shell and its child are left", || {
        let left = processes(killer.0);
        let mine = |pid: &u32| *pid == shell || super::program::parent(*pid) == Some(shell);
        left.iter().all(mine).then_some(())
    })
    .await;
    for one in &bystanders {
        assert!(is_alive(one.pid()), "somebody else's process was killed");
    }
    drop(killer);
    until_dead(shell).await;
}

/// FIFOs that root makes are to be written by the user as well.
fn open_to(user: &User, program: &Program) {
    for entry in std::fs::read_dir(program.workspace.path())
        .unwrap()
        .flatten()
    {
        std::os::unix::fs::chown(entry.path(), Some(user.0), Some(user.0)).unwrap();
    }
}

/// Looks for a word, which a file names, in all that may be read of all processes. Prints where it is.
const LOOK: &str = r#"
import os
word = open("word", "rb").read()
own = os.getpid()
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            text = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            continue
        if word in text: print(pid, name)
    if int(pid) == own: continue
    try:
        maps = open(f"/proc/{pid}/maps").read()
        memory = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError:
        continue
    for line in maps.splitlines():
        span, rights = line.split()[:2]
        if rights[0] != "r" or "[v" in line: continue
        first, last = (int(one, 16) for one in span.split("-"))
        if last - first > 1 << 28: continue
        try:
            memory.seek(first)
            if word in memory.read(last - first):
                print(pid, "mem")
                break
        except OSError:
            pass
print("looked")
"#;

#[needs(root, program = "python3")]
#[tokio::test]
async fn no_secret_of_the_host_is_where_a_command_can_read_it() {
    let python = python();
    let reader = User::take(READER);
    let canary = unique();
    // It shows that whoever looks would find it.
    let control = sleep(reader.0, &[("SECRET_CANARY", &canary)]);
    let directory = tempfile::tempdir().unwrap();
    let env = vec![
        ("SECRET_CANARY", canary.clone()),
        ("MY_API_KEY", canary.clone()),
    ];
    let program = host(&reader, &directory, env).await;
    std::fs::write(program.path("word"), &canary).unwrap();
    std::fs::write(program.path("look.py"), LOOK).unwrap();
    let marked = Marked::new(program.workspace.path());
    open_to(&reader, &program);
    // Another command, whose supervisor is looked into as well.
    program.start(&marked.text("sleep 1000")).await;
    marked.runs("sleep 1000", 1).await;
    let found = program
        .run(&format!("{} look.py; env", python.display()))
        .await;
    let (found, env) = found.split_once("looked\n").expect(&found);
    assert!(env.contains("PATH=") && !env.contains(&canary), "{env}");
    let found: BTreeSet<_> = found.lines().collect();
    let control = control.pid();
    let expected = [format!("{control} environ"), format!("{control} mem")];
    assert_eq!(found, expected.iter().map(String::as_str).collect());
    program.signal(Signal::SIGTERM);
    program.ended().await;
}
