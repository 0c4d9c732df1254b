//! The programs of the machine: they work in a command exactly as in the shell of whoever started the host.

use std::path::Path;
use std::process::Command as Shell;

use toolhost_local::process::{Config, Registry};
use toolhost_needs::needs;
use toolhost_sandbox::{Mode, Policy};
use toolhost_workspace::process::{Command, WaitOptions, Wake};

use crate::harness::processes::temporary;
use crate::harness::{PATIENCE, spawner};

/// Output and exit code of a plain shell in the environment of this test.
fn plainly(command: &str, workdir: &Path) -> (String, Option<i32>) {
    let script = format!("{{ {command}\n}} 2>&1");
    let output = Shell::new("sh")
        .args(["-c", &script])
        .current_dir(workdir)
        .output()
        .unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.code(),
    )
}

/// The same of a command of a host that inherited that environment.
async fn in_a_command(command: &str, workdir: &Path) -> (String, Option<i32>) {
    let config = Config {
        spawner: Some(spawner()),
        // Programs read credentials of the user, such as ~/.npmrc, as they do in a shell.
        sandbox: Policy {
            mode: Mode::Off,
            ..Policy::default()
        },
        ..Config::new(workdir)
    };
    let registry = Registry::open(config, &temporary()).await.unwrap();
    let command = Command {
        command: command.into(),
        ..Command::default()
    };
    let process = registry.start(None, command).await.unwrap();
    let options = WaitOptions {
        timeout: PATIENCE * 3,
        ..WaitOptions::default()
    };
    assert_eq!(process.wait(&options).await.unwrap().wake, Wake::Ended);
    let snapshot = process.snapshot().await;
    registry.shutdown().await;
    let output = [snapshot.head, snapshot.tail].concat();
    let code = snapshot.state.exit_status().and_then(|status| status.code);
    (String::from_utf8_lossy(&output).into_owned(), code)
}

/// Runs a command both ways, each in an empty directory of the same name, and compares.
async fn same(commands: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let workdir = place.join("w");
    let mut results = Vec::new();
    for hosted in [false, true] {
        std::fs::create_dir(&workdir).unwrap();
        let mut outputs = Vec::new();
        for command in commands {
            let result = if hosted {
                in_a_command(command, &workdir).await
            } else {
                plainly(command, &workdir)
            };
            assert_eq!(result.1, Some(0), "{command}: {}", result.0);
            outputs.push(result);
        }
        std::fs::rename(&workdir, place.join(format!("done-{hosted}"))).unwrap();
        results.push(outputs);
    }
    assert_eq!(results[0], results[1]);
}

#[needs(program = "git")]
#[tokio::test]
async fn git_works_as_in_a_shell() {
    let commit = "git -c user.name=N -c user.email=n@example.com commit --date=2026-01-01T00:00:00Z -m first";
    let commit = format!("GIT_COMMITTER_DATE=2026-01-01T00:00:00Z {commit}");
    let commands = [
        "git --version",
        "git init",
        "echo hi > file; git add file",
        &commit,
        "git log --stat; git status --short",
        "git config --list --show-origin",
    ];
    same(&commands).await;
}

#[needs(program = "python3")]
#[tokio::test]
async fn python_works_as_in_a_shell() {
    let code = "python3 -c 'import sys, os, locale; print(sys.version, sys.executable, sys.path, os.getcwd(), \
                sys.getfilesystemencoding(), locale.getpreferredencoding()); print(\"é\")'";
    same(&["python3 --version", code]).await;
}

#[needs(program = "npm")]
#[tokio::test]
async fn npm_works_as_in_a_shell() {
    same(&[
        "npm --version",
        "node --version",
        "npm config get prefix cache",
    ])
    .await;
}

#[needs(program = "cargo")]
#[tokio::test]
async fn cargo_works_as_in_a_shell() {
    let commands = [
        "cargo --version; rustc --version",
        "cargo new --vcs none made",
        // What it prints has times in it; what it built does not.
        "cd made && unset CARGO_TARGET_DIR $(env | grep -o '^CARGO_TARGET_[A-Z0-9_]*_RUNNER'); cargo check --offline --quiet && cargo run --offline --quiet",
    ];
    same(&commands).await;
}
