//! Compiling in a process of its own: what it is given, how it may end, and that it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use toolhost_core::Options;
use toolhost_plugin::{CodeCache, Compiler, Engine, Limits, LoadError, Plugin};
use toolhost_state::state_dir::StateDir;

use super::made;
use crate::harness::{self, program, until, until_dead};

/// A compiler that is a script. It is written by another process, so that no fork of this one holds it open for writing when it
/// is to be executed.
fn script(directory: &Path, body: &str) -> PathBuf {
    let path = directory.join("compiler");
    let status = Command::new("sh")
        .args(["-c", r#"printf '%s\n' "$2" >"$1" && chmod 755 "$1""#, "sh"])
        .arg(&path)
        .arg(format!("#!/bin/sh\n{body}"))
        .status();
    assert!(status.unwrap().success());
    path
}

async fn load(compiler: PathBuf, limits: Limits) -> Result<(), LoadError> {
    let engine = Engine::with_compiler(None, Some(Compiler::new(compiler))).unwrap();
    let options = Options {
        limits,
        ..Options::new("x")
    };
    let loaded = Plugin::load(&engine, &made::tool(|_| {}), options).await;
    loaded.map(|_| ())
}

/// Why nothing loads with such a compiler.
async fn error_with(body: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let loaded = load(script(directory.path(), body), Limits::default()).await;
    loaded.unwrap_err().to_string()
}

#[tokio::test]
async fn a_component_is_compiled_elsewhere_and_its_code_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let cache =
        || CodeCache::open(&StateDir::open(&directory.path().join("state")).unwrap()).unwrap();
    let component = made::tool(|_| {});
    let here = Engine::with_compiler(Some(cache()), Some(Compiler::new(program()))).unwrap();
    Plugin::load(&here, &component, Options::new("x"))
        .await
        .unwrap();
    // The next one has the code, and its compiler does not work.
    let next =
        Engine::with_compiler(Some(cache()), Some(Compiler::new("/no/such/program"))).unwrap();
    Plugin::load(&next, &component, Options::new("y"))
        .await
        .unwrap();
    let other = Plugin::load(
        &next,
        &made::tool(|tool| tool.name = "u".into()),
        Options::new("z"),
    )
    .await;
    insta::assert_snapshot!(other.unwrap_err(), @"the compiler failed: /no/such/program cannot be run: No such file or directory (os error 2)");
}

#[tokio::test]
async fn without_a_program_it_is_compiled_here() {
    let engine = Engine::new(None).unwrap();
    Plugin::load(&engine, &made::tool(|_| {}), Options::new("x"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_compiler_that_fails_says_how() {
    insta::assert_snapshot!(error_with("cat >/dev/null & kill -9 $$").await, @"the compiler failed: it was killed, as the system does when memory runs out: give this machine or container more memory");
    insta::assert_snapshot!(error_with("kill -SEGV $$").await, @"the compiler failed: it crashed with SIGSEGV");
    insta::assert_snapshot!(error_with("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$").await, @"the compiler failed: it needs more than 2 GiB of memory, which is the most for compiling: use a smaller component");
    insta::assert_snapshot!(error_with("printf 'oh\\033[2Jno' >&2; exit 9").await, @r#"the compiler failed: it ended with code 9, after it said: oh\u{1b}[2Jno"#);
    insta::assert_snapshot!(error_with("echo rubbish").await, @"the compiler failed: it did not answer as a compiler does: name the Toolhost program");
    insta::assert_snapshot!(error_with("exit 0").await, @"the compiler failed: it did not answer as a compiler does: name the Toolhost program");
    // The right mark, and what it is compatible with is wrong.
    insta::assert_snapshot!(error_with("printf 'thcode 1%0100d' 0").await, @"the compiler failed: it is another version of Toolhost, or one for another machine: use the program that this host is");
    insta::assert_snapshot!(error_with("echo 'it has no sense' >&2; exit 3").await, @"this is not a WebAssembly component: it is broken or was cut off (it has no sense); build or download it again");
}

/// It says what is right, and its code is none: wasmtime finds that.
#[tokio::test]
async fn code_that_is_none_is_of_no_use() {
    let directory = tempfile::tempdir().unwrap();
    let program = program().display().to_string();
    let body = format!("'{program}' \"$@\" | head -c 400");
    let error = load(script(directory.path(), &body), Limits::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the compiler failed: its code is of no use: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_compiler_has_nothing_of_the_hosts_environment() {
    let directory = tempfile::tempdir().unwrap();
    let body =
        "tr '\\0' '\\n' </proc/self/environ >\"$0.environment\"; pwd >\"$0.directory\"; exit 3";
    load(script(directory.path(), body), Limits::default())
        .await
        .unwrap_err();
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(read("compiler.directory"), "/\n");
    // What a shell adds of its own.
    let environment = read("compiler.environment");
    let foreign = environment.lines().find(|line| {
        !["PWD=", "OLDPWD=", "SHLVL=", "_="]
            .iter()
            .any(|own| line.starts_with(own))
    });
    assert_eq!(foreign, None);
}

/// As short a time as the kernel limits, a second of CPU time.
fn short() -> Limits {
    Limits {
        compile_time: Duration::from_millis(50),
        ..Limits::default()
    }
}

#[tokio::test]
async fn compiling_ends_when_its_cpu_time_is_used_up() {
    let directory = tempfile::tempdir().unwrap();
    let body = "while :; do :; done";
    let error = load(script(directory.path(), body), short())
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @r#"compiling the component takes more than 1 s of CPU time: if it is as it should be, put `limits = { compile_time = "3s" }` into [plugins.x]"#);
}

/// It uses no CPU time, so it is given up only after a time on the wall, which is skipped here.
#[tokio::test(start_paused = true)]
async fn a_compiler_that_hangs_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let error = load(script(directory.path(), "exec sleep 1000"), short())
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @"the compiler failed: it hangs: it has not ended within 600 s");
}

#[tokio::test]
async fn a_compiler_is_killed_when_nobody_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let script = script(directory.path(), "echo $$ >\"$0.pid\"; exec sleep 1000");
    let loading = tokio::spawn(load(script, Limits::default()));
    let pid = harness::file(&directory.path().join("compiler.pid")).await;
    loading.abort();
    assert!(loading.await.unwrap_err().is_cancelled());
    until_dead(pid.trim().parse().unwrap()).await;
}

/// Begins the compiler itself, as a host would.
fn compiler() -> Command {
    let mut command = Command::new(program());
    command
        .args(["compiler", "pool"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The host can be killed at any time, and leaves no compiler behind: the end of its input ends it.
#[tokio::test]
async fn a_compiler_ends_with_its_host() {
    use std::io::Write;
    let component = made::tool(|_| {});
    let size = (component.len() as u64).to_le_bytes();
    for part in [
        &[][..],
        &size[..4],
        &size,
        &[&size[..], &component[..50]].concat(),
    ] {
        let mut child = compiler().spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(part).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(4), 0),
            "{output:?}"
        );
    }
}

/// What a compiler writes is run by the host, so no command of the same user may get into one.
#[tokio::test]
async fn a_compiler_is_limited_and_not_dumpable() {
    use std::io::Write;
    let mut child = compiler().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    // It sets its limits before it reads.
    let limits = until("the limits are set", || {
        let limits = std::fs::read_to_string(proc.join("limits")).ok()?;
        limits
            .lines()
            .any(|line| line.starts_with("Max data size") && !line.contains("unlimited"))
            .then_some(limits)
    })
    .await;
    for limit in [
        "Max data size             2147483648",
        "Max core file size        0",
        "Max file size             0",
    ] {
        assert!(limits.contains(limit), "{limits}");
    }
    let status = std::fs::read_to_string(proc.join("status")).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    // Who is not dumpable has files of root's in /proc.
    if !nix::unistd::geteuid().is_root() {
        std::fs::read(proc.join("environ")).unwrap_err();
    }
    stdin.write_all(&u64::MAX.to_le_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"cannot read the component: file too large");
}
