//! The resources that this process holds: memory, descriptors, and the commands of guests.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, sleep};
use toolhost_local::Local;

/// How much more a host may hold after an attack: allocator and runtime keep some of what they once had.
const MEMORY: u64 = 32 << 20;
const DESCRIPTORS: usize = 16;

/// How long the host has to give everything back, and how often that is looked at.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// What the host holds at one moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Held {
    /// Resident memory that no file backs, in bytes.
    pub(super) memory: u64,
    /// Open descriptors.
    pub(super) descriptors: usize,
    /// Live processes that guests started.
    pub(super) processes: usize,
}

impl Held {
    /// Measures this process, with the processes of this workspace.
    pub(super) fn now(workspace: &Local) -> anyhow::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kilobytes: u64 = kilobytes.unwrap_or("0").parse()?;
        Ok(Self {
            memory: kilobytes << 10,
            descriptors: std::fs::read_dir("/proc/self/fd")?.count(),
            processes: workspace.processes().live(),
        })
    }

    /// Returns whether so much more than before is no loss.
    pub(super) fn is_back_to(&self, before: &Self) -> bool {
        self.memory <= before.memory + MEMORY
            && self.descriptors <= before.descriptors + DESCRIPTORS
            && self.processes <= before.processes
    }

    /// Waits until everything has come back, and returns what the host then holds. Gives up after 10 s.
    pub(super) async fn after(before: &Self, workspace: &Local) -> anyhow::Result<Self> {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = Self::now(workspace)?;
            if now.is_back_to(before) || Instant::now() > until {
                return Ok(now);
            }
            sleep(LOOK).await;
        }
    }
}
