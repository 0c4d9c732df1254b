//! The command line, as a user runs it.

mod call;
mod check;
mod configuration;
mod full_disk;
mod help;
mod interrupt;
mod lowered_limits;
mod messages;
mod readme;
mod reload;
mod retention;
mod serve;
mod state_dir;
mod usage;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{TOKEN, file, is_alive, shared_state, until, with_code};

/// The program, in a workspace of its own and with no variable of ours.
fn toolhost(workspace: &Path) -> Command {
    with_state(workspace, &shared_state("cli"))
}

/// The program as a server, which has a state directory to itself.
pub(crate) fn server(workspace: &Path) -> Command {
    let state = workspace.join(".state");
    // The next server in the same workspace goes on with it.
    if !state.exists() {
        with_code(state.clone(), None);
    }
    with_state(workspace, &state)
}

/// The program as a client of a running server, which has no workspace and keeps nothing.
pub(crate) fn client() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

fn with_state(workspace: &Path, state: &Path) -> Command {
    let mut command = client();
    command
        .arg("--workspace")
        .arg(workspace)
        .arg("--state-dir")
        .arg(state);
    command
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

/// A server that was started from the command line.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) stderr: String,
    /// What it says after that.
    rest: Option<std::thread::JoinHandle<String>>,
}

impl Drop for Serving {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Serving {
    fn start(mut command: Command) -> Self {
        command.arg("serve");
        Self::of(command)
    }

    /// Starts a command line that lacks nothing but the address.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut stderr = String::new();
        let url = loop {
            let line = lines.next().expect("it says where it listens").unwrap();
            stderr.push_str(&line);
            stderr.push('\n');
            let url = match serde_json::from_str::<Value>(&line) {
                Ok(line) => line["url"].as_str().map(str::to_owned),
                Err(_) => line.strip_prefix("listening on ").map(str::to_owned),
            };
            if let Some(url) = url {
                break url;
            }
        };
        let rest = std::thread::spawn(move || {
            let lines: Vec<_> = lines.map_while(Result::ok).collect();
            lines.join("\n")
        });
        Self {
            child,
            url,
            stderr,
            rest: Some(rest),
        }
    }

    pub(crate) fn rest(&mut self) -> String {
        self.rest.take().unwrap().join().unwrap()
    }

    pub(crate) fn signal(&mut self, signal: nix::sys::signal::Signal) -> std::process::ExitStatus {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
        self.child.wait().unwrap()
    }
}

/// Waits for the end of a program that says little, and returns what it said.
async fn finished(mut child: Child) -> Output {
    until("the program ends", || child.try_wait().unwrap()).await;
    child.wait_with_output().unwrap()
}
