//! Output and records: every byte is where its cursor says, or named as gone, and what is kept outlives the host.

mod ageing;
mod crash;
mod cursors;
mod disk_full;
mod keys;
mod late;
mod opening;
mod overlaps;
mod restart;
mod served;
mod sizes;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::test_runner::Config as Cases;
use toolhost_core::ChatId;
use toolhost_local::process::{Config, Process, Records, Registry};
use toolhost_state::state_dir::StateDir;
use toolhost_workspace::process::{Command, WaitOptions, Wake};

use crate::harness::{PATIENCE, spawner, until};

/// A registry in a workspace of its own, with the means to open it again.
struct Setup {
    registry: Arc<Registry>,
    workspace: tempfile::TempDir,
}

impl Setup {
    /// A registry whose records end with it, changed before it is opened.
    fn with(change: impl FnOnce(Config) -> Config) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let registry = Registry::open(change(config(workspace.path()))).unwrap();
        Self {
            registry,
            workspace,
        }
    }

    /// A registry whose records are kept.
    fn kept(change: impl FnOnce(Config) -> Config) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let registry = Registry::open(change(kept(workspace.path()))).unwrap();
        Self {
            registry,
            workspace,
        }
    }

    /// Ends the host as it should be ended, and opens the next one on what it left.
    async fn reopened(self, change: impl FnOnce(Config) -> Config) -> Self {
        let Self {
            registry,
            workspace,
        } = self;
        registry.shutdown().await;
        drop(registry);
        let registry = Registry::open(change(kept(workspace.path()))).unwrap();
        Self {
            registry,
            workspace,
        }
    }

    async fn start(&self, command: &str) -> Arc<Process> {
        self.registry.start(&chat("a"), sh(command)).await.unwrap()
    }

    /// Runs a command to its end.
    async fn run(&self, command: &str) -> Arc<Process> {
        let process = self.start(command).await;
        finished(&process).await;
        process
    }

    /// Puts a file into the workspace.
    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.workspace.path().join(name), bytes).unwrap();
    }

    fn output_directory(&self) -> PathBuf {
        self.workspace.path().join("state/output")
    }
}

fn config(workspace: &Path) -> Config {
    Config {
        spawner: Some(spawner()),
        ..Config::new(workspace.canonicalize().unwrap())
    }
}

fn kept(workspace: &Path) -> Config {
    let state = StateDir::open(&workspace.join("state")).unwrap();
    Config {
        records: Records::Kept(state),
        ..config(workspace)
    }
}

fn chat(name: &str) -> ChatId {
    name.parse().unwrap()
}

fn sh(command: &str) -> Command {
    Command {
        command: command.into(),
        ..Command::default()
    }
}

fn long() -> WaitOptions {
    WaitOptions {
        timeout: PATIENCE,
        ..WaitOptions::default()
    }
}

async fn finished(process: &Process) {
    assert_eq!(process.wait(&long()).await.unwrap().wake, Wake::Ended);
}

/// Waits until nothing is left of a process, which is after it has finished.
async fn gone(process: &Process) {
    until("nothing is left of it", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
}

/// Reads everything that can be read from the start on, as far as there is no gap.
async fn read_all(process: &Process) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let chunk = process.read(all.len() as u64, 1 << 20).await;
        if chunk.data.is_empty() || chunk.offset > all.len() as u64 {
            return all;
        }
        all.extend(chunk.data);
    }
}

/// The bytes of a stretch of an output in which every eight bytes tell where they are.
fn pattern(range: Range<u64>) -> Vec<u8> {
    let words = range.start / 8..range.end.div_ceil(8);
    let bytes: Vec<u8> = words
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
        .collect();
    let skipped = usize::try_from(range.start % 8).unwrap();
    let length = usize::try_from(range.end - range.start).unwrap();
    bytes[skipped..skipped + length].to_vec()
}

/// So many cases, without a file of failed ones: each starts real processes.
pub(crate) fn cases(count: u32) -> Cases {
    Cases {
        failure_persistence: None,
        max_shrink_iters: 64,
        ..Cases::with_cases(count)
    }
}

/// How many bytes of output are on the disk, in a state directory.
pub(crate) fn saved_in(state: &Path) -> u64 {
    let chats = std::fs::read_dir(state.join("output"))
        .into_iter()
        .flatten();
    let files = chats.flat_map(|chat| std::fs::read_dir(chat.unwrap().path()).unwrap());
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}
