//! The command line, as a user runs it.

pub(crate) mod authoring;
mod call;
mod check;
mod configuration;
mod full_disk;
mod help;
mod init;
mod install;
mod interrupt;
mod lookup;
mod lowered_limits;
mod messages;
mod readme;
mod reload;
mod retention;
mod serve;
mod shell;
mod state;
mod state_dir;
mod terminal;
mod unsuitable;
mod upgrade;
mod usage;
mod workspaces;

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::serving::{Serving, client, server, with_state};
use crate::harness::{TOKEN, file, is_alive, shared_state, until, until_dead, with_code};

/// The program, in a workspace of its own and with no variable of ours.
fn toolhost(workspace: &Path) -> Command {
    with_state(workspace, &shared_state("cli"))
}

fn run(arguments: &[&str]) -> Output {
    let workspace = tempfile::tempdir().unwrap();
    toolhost(workspace.path()).args(arguments).output().unwrap()
}

fn json_of(output: &Output) -> Value {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(
        text.lines().count(),
        1,
        "one JSON value on one line: {text}"
    );
    serde_json::from_str(text).unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Waits for the end of a program, and returns what it said. A program that hangs is killed.
async fn finished(child: Child) -> Output {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    // It is read meanwhile: a pipe holds 64 KiB.
    let reading = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let output = tokio::time::timeout(crate::harness::PATIENCE, reading).await;
    let output = output.inspect_err(|_| {
        _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    });
    output.expect("the program ends").unwrap()
}
