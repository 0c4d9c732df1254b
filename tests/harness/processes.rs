//! A registry of processes in a workspace of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;
use toolhost_core::ChatId;
use toolhost_local::process::{Config, Limits, Process, Registry};
use toolhost_state::state_dir::StateDir;
use toolhost_store::{Durability, HostState, HostStateError};
use toolhost_workspace::process::{
    Command, ProcessEvent, Signal, State, Subject, Subscriber, WaitOptions, Wake,
};

use super::{PATIENCE, file, spawner, until, wait, without_namespaces};

/// A registry in a workspace of its own, with the means to open it again.
pub(crate) struct TestRegistry {
    pub(crate) registry: Arc<Registry>,
    pub(crate) workspace: tempfile::TempDir,
}

/// Notified of every event of a process.
#[derive(Debug, Default)]
struct Events(Notify);

impl Subscriber for Events {
    fn event(&self, _: Subject<'_>, _: ProcessEvent<'_>) {
        self.0.notify_one();
    }
}

impl TestRegistry {
    /// A registry with default limits, whose records end with it.
    pub(crate) fn new() -> Self {
        Self::with(|config| config)
    }

    /// A registry with these limits, whose records end with it.
    pub(crate) fn limited(limits: Limits) -> Self {
        Self::with(|config| Config { limits, ..config })
    }

    /// A registry whose records end with it, changed before it is opened.
    pub(crate) fn with(change: impl FnOnce(Config) -> Config) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        Self::open(workspace, change, &temporary())
    }

    /// A registry whose records are kept.
    pub(crate) fn kept(change: impl FnOnce(Config) -> Config) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let state = kept(workspace.path()).unwrap();
        Self::open(workspace, change, &state)
    }

    /// A registry in this workspace, with its records in this state.
    pub(crate) fn open(
        workspace: tempfile::TempDir,
        change: impl FnOnce(Config) -> Config,
        state: &HostState,
    ) -> Self {
        let config = change(config(workspace.path()));
        let registry = wait(Registry::open(config, state)).unwrap();
        Self {
            registry,
            workspace,
        }
    }

    /// Ends the host as it should be ended, and opens the next one on what it left.
    pub(crate) async fn reopened(self, change: impl FnOnce(Config) -> Config) -> Self {
        let Self {
            registry,
            workspace,
        } = self;
        registry.shutdown().await;
        drop(registry);
        let state = kept(workspace.path()).unwrap();
        Self::open(workspace, change, &state)
    }

    /// Starts a command in the chat `a`.
    pub(crate) async fn start(&self, command: &str) -> Arc<Process> {
        self.registry.start(&chat("a"), sh(command)).await.unwrap()
    }

    /// Starts a command that ignores SIGTERM, and returns it with the pid of its shell.
    pub(crate) async fn start_stubborn(&self) -> (Arc<Process>, u32) {
        let process = self
            .start("trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done")
            .await;
        (process, self.pid("pid").await)
    }

    /// Waits until a condition holds, which is checked after every event of a process.
    pub(crate) async fn when(&self, holds: impl Fn() -> bool) {
        let events = Arc::new(Events::default());
        let weak = Arc::downgrade(&events);
        self.registry.subscribe(weak);
        while !holds() {
            events.0.notified().await;
        }
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, command: &str) -> Arc<Process> {
        let process = self.start(command).await;
        finished(&process).await;
        process
    }

    /// Runs a command to its end, and returns its state and the output that its snapshot shows.
    pub(crate) async fn output_of(&self, command: &str) -> (State, String) {
        let snapshot = self.run(command).await.snapshot().await;
        let output = [snapshot.head, snapshot.tail].concat();
        (snapshot.state, String::from_utf8(output).unwrap())
    }

    /// Sends a signal, with the grace of the limits.
    pub(crate) fn signal(&self, process: &Process, signal: Signal) {
        let sent = self.registry.signal(&chat("a"), process.id(), signal, None);
        sent.unwrap();
    }

    /// Puts a file into the workspace.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.workspace.path().join(name), bytes).unwrap();
    }

    /// Waits for a line that a command writes to a file of the workspace: a pid, or just that it is ready.
    pub(crate) async fn written(&self, name: &str) -> String {
        let text = file(&self.workspace.path().join(name)).await;
        text.trim().to_owned()
    }

    /// Waits for a pid that a command writes to a file of the workspace.
    pub(crate) async fn pid(&self, name: &str) -> u32 {
        self.written(name).await.parse().unwrap()
    }

    pub(crate) fn output_directory(&self) -> PathBuf {
        self.workspace.path().join("state/output")
    }
}

/// The configuration of a registry in this workspace.
pub(crate) fn config(workspace: &Path) -> Config {
    Config {
        spawner: Some(spawner()),
        sandbox: without_namespaces(),
        ..Config::new(workspace.canonicalize().unwrap())
    }
}

/// A state that ends with its registry.
pub(crate) fn temporary() -> HostState {
    HostState::temporary(std::env::temp_dir()).unwrap()
}

/// Opens the state that is kept in `state` in this workspace.
pub(crate) fn kept(workspace: &Path) -> Result<HostState, HostStateError> {
    let state = StateDir::open(&workspace.join("state")).unwrap();
    HostState::open(&state, Durability::Host)
}

/// Opens a registry in this workspace, whose records are kept.
pub(crate) async fn open_kept(workspace: &Path) -> Result<Arc<Registry>, HostStateError> {
    let state = kept(workspace)?;
    Ok(Registry::open(config(workspace), &state).await.unwrap())
}

pub(crate) fn chat(name: &str) -> ChatId {
    name.parse().unwrap()
}

pub(crate) fn sh(command: &str) -> Command {
    Command {
        command: command.into(),
        ..Command::default()
    }
}

/// A wait for the end of a process.
pub(crate) fn long() -> WaitOptions {
    WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    }
}

pub(crate) async fn finished(process: &Process) {
    assert_eq!(process.wait(&long()).await.unwrap().wake, Wake::Ended);
}

/// Waits until nothing is left of a process, which is after it has finished.
pub(crate) async fn gone(process: &Process) {
    until("nothing is left of it", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
}
