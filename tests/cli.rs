//! The command line, as a user runs it.

pub(crate) mod authoring;
mod call;
mod check;
mod configuration;
mod full_disk;
mod help;
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

/// Waits for the end of a program that says little, and returns what it said.
async fn finished(mut child: Child) -> Output {
    until("the program ends", || child.try_wait().unwrap()).await;
    child.wait_with_output().unwrap()
}
