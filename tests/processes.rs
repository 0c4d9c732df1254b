//! The process domain on real processes: ending, draining, capturing, signalling, scopes.

mod chats;
mod finishing;
mod output;
mod signals;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost_core::ChatId;
use toolhost_local::process::{Config, Environment, Extras, Limits, Process, Registry, SaveLimits};
use toolhost_workspace::process::{Cause, Command, Error, Saved, Signal, State, WaitOptions, Wake};

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

    /// Sends a signal, with the grace of the limits.
    fn signal(&self, process: &Process, signal: Signal) {
        let sent = self.registry.signal(&chat("a"), process.id(), signal, None);
        sent.unwrap();
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

fn assert_lingers(process: &Process) {
    let state = process.state();
    assert!(matches!(state, State::Lingering(_)), "{state:?}");
}
