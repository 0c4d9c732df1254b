//! A registry of its own, with and without a cgroup for each command.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolhost_core::ChatId;
use toolhost_local::process::{Config, Limits, Process, Registry, Spawner};
use toolhost_sandbox::Policy;
use toolhost_workspace::process::{Command, Kind, Signal, State, WaitOptions, Wake};

use super::survivors::Found;
use crate::harness::processes::temporary;
use crate::harness::{PATIENCE, program, wait};

/// What holds commands together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Supervisor,
    Cgroup,
}

impl Mode {
    /// A spawner of its own. Fails without a delegated cgroup if it is to use one, which a test says with `#[needs(cgroup)]`.
    fn spawner(self) -> Spawner {
        match self {
            Self::Supervisor => Spawner::start_without_cgroup(program()).unwrap(),
            Self::Cgroup => {
                let spawner = Spawner::start(program()).unwrap();
                let containment = spawner.containment();
                assert_eq!(containment.kind, Kind::Cgroup, "{:?}", containment.reason);
                spawner
            }
        }
    }

    /// Fails if processes are not held by what this says.
    pub(super) fn check(self, name: &str, processes: &[Found]) {
        for one in processes {
            let path = format!("/proc/{}/cgroup", one.pid);
            let Ok(groups) = std::fs::read_to_string(path) else {
                continue;
            };
            let within = groups.lines().any(|line| line.contains("/toolhost-"));
            // One that has ended meanwhile is in none.
            if !groups.is_empty() && crate::harness::is_alive(one.pid) {
                assert_eq!(within, self == Self::Cgroup, "{name}: {one:?}: {groups}");
            }
        }
    }
}

pub(super) struct Bench {
    pub(super) registry: Arc<Registry>,
    pub(super) spawner: Spawner,
    pub(super) workspace: tempfile::TempDir,
}

pub(super) fn chat() -> ChatId {
    "a".parse().unwrap()
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(Mode::Supervisor)
    }

    pub(super) fn with(mode: Mode) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let spawner = mode.spawner();
        let config = Config {
            spawner: Some(spawner.clone()),
            limits: Limits {
                grace: Duration::from_millis(200),
                live_per_chat: 1000,
                ..Limits::default()
            },
            // Containment holds on its own: no sandbox keeps these commands from attacking it.
            sandbox: Policy {
                mode: toolhost_sandbox::Mode::Off,
                ..Policy::default()
            },
            ..Config::new(workspace.path().canonicalize().unwrap())
        };
        Self {
            registry: wait(Registry::open(config, &temporary())).unwrap(),
            spawner,
            workspace,
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    pub(super) async fn start(&self, text: &str) -> Arc<Process> {
        loop {
            match self.try_start(text).await {
                // The host did not know yet that the spawner was killed.
                Err(error) if error.to_string().contains("another is started") => {}
                started => return started.unwrap(),
            }
        }
    }

    pub(super) async fn try_start(
        &self,
        text: &str,
    ) -> Result<Arc<Process>, toolhost_workspace::process::Error> {
        let command = Command {
            command: text.into(),
            ..Command::default()
        };
        self.registry.start(&chat(), command).await
    }

    pub(super) async fn run(&self, text: &str) -> (State, String) {
        let process = self.start(text).await;
        finished(&process).await;
        (process.state(), output(&process).await)
    }

    pub(super) fn signal(&self, process: &Process, signal: Signal) {
        self.registry
            .signal(&chat(), process.id(), signal, None)
            .unwrap();
    }

    /// Shows that it still works.
    pub(super) async fn works(&self) {
        let (state, output) = self.run("echo works").await;
        assert_eq!(output, "works\n");
        assert!(
            matches!(&state, State::Exited(status) if status.code == Some(0)),
            "{state:?}"
        );
    }
}

pub(super) async fn output(process: &Process) -> String {
    let snapshot = process.snapshot().await;
    String::from_utf8([snapshot.head, snapshot.tail].concat()).unwrap()
}

/// Waits until the shell has ended and its output is read.
pub(super) async fn finished(process: &Process) {
    let options = WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    };
    assert_eq!(process.wait(&options).await.unwrap().wake, Wake::Ended);
}
