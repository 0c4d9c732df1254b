//! The behaviour of every workspace: one suite for this machine, for an agent, and for an agent that connects to the host.

mod events;
mod faults;
mod files;
mod input;
pub(crate) mod kinds;
mod observing;
mod ports;
mod processes;
mod uploads;

use std::sync::Arc;
use std::time::Duration;

use toolhost_sandbox::Policy;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{
    Command, Error, Info, Signal, State, Stdin, WaitOptions, Waited, Wake,
};

use crate::harness::processes::chat;
use crate::harness::{PATIENCE, elsewhere, file, until_dead};

/// A workspace of the kind that is tested.
struct Place {
    workspace: Arc<dyn Workspace>,
    root: tempfile::TempDir,
    _agent: Option<Box<dyn std::any::Any + Send + Sync>>,
}

impl Place {
    async fn new() -> Self {
        Self::with(crate::harness::without_namespaces(), &[]).await
    }

    /// A workspace whose commands have this policy, which an agent that connects gets as arguments.
    async fn with(policy: Policy, arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (workspace, _agent) = elsewhere::of_any_kind_with(root.path(), policy, arguments).await;
        Self {
            workspace,
            root,
            _agent,
        }
    }

    /// Starts a command for the chat `a` and returns its id.
    async fn start(&self, text: &str) -> String {
        self.start_for("a", command(text)).await.unwrap().0
    }

    /// Starts a command, and returns its id and whether it is new.
    async fn start_for(&self, owner: &str, command: Command) -> Result<(String, bool), Error> {
        let started = self.workspace.start(Some(&chat(owner)), command).await?;
        Ok((started.id, started.is_new))
    }

    async fn info(&self, id: &str) -> Result<Info, Error> {
        self.workspace.info(Some(&chat("a")), id).await
    }

    async fn wait(&self, id: &str, options: WaitOptions) -> Result<Waited, Error> {
        let options = WaitOptions {
            timeout: PATIENCE,
            ..options
        };
        self.workspace.wait(Some(&chat("a")), id, options).await
    }

    /// Waits for the end of a process, and returns its state and its output.
    async fn ended(&self, id: &str) -> (State, String) {
        let waited = self.wait(id, WaitOptions::default()).await.unwrap();
        assert_eq!(waited.wake, Wake::Ended);
        let snapshot = self.workspace.snapshot(Some(&chat("a")), id).await.unwrap();
        (snapshot.state, String::from_utf8(snapshot.head).unwrap())
    }

    /// Reads the whole output of an ended process by its cursors, so many bytes at a time.
    async fn read_all(&self, id: &str, max: usize) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let since = all.len() as u64;
            let read = self.workspace.read(Some(&chat("a")), id, since, max).await;
            let chunk = read.unwrap();
            assert_eq!(chunk.offset, since, "nothing is missing");
            all.extend(chunk.data);
            if chunk.end && all.len() as u64 == chunk.total {
                return all;
            }
        }
    }

    /// Returns the number that a command wrote into a file.
    async fn pid(&self, name: &str) -> u32 {
        let text = file(&self.root.path().join(name)).await;
        text.trim().parse().unwrap()
    }
}

fn command(text: &str) -> Command {
    Command {
        command: text.into(),
        ..Command::default()
    }
}

fn code(state: &State) -> Option<i32> {
    state.exit_status().and_then(|status| status.code)
}
