//! How much commands may use, and the limits of the kernel that hold it for each process.

mod written;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use written::{bytes, count, time};

/// How much commands may use; `None` is no limit, in the configuration `"none"`.
///
/// Each limit is one of the kernel for a process, which its children inherit. Where a command has a cgroup, `memory.max` and
/// `pids.max` hold for the command as a whole, and are better: set those, and `memory` and `processes` to `None` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The bytes that each process can write in memory of its own (`RLIMIT_DATA`).
    ///
    /// It counts what a process has reserved and can write, whether touched or not. `RLIMIT_AS` would count address space as
    /// well, of which Go, Java and Node.js reserve far more than they use. No limit of the kernel for a process counts what is
    /// shared, or what all processes use together.
    #[serde(with = "bytes")]
    pub memory: Option<u64>,
    /// How many processes and threads a command can add (`RLIMIT_NPROC`).
    ///
    /// The kernel counts all those of the user, whatever they belong to, and does not count those of root. So the limit is set
    /// to this number above those that the user has when the sandbox is prepared. A command can take the room of another.
    #[serde(with = "count")]
    pub processes: Option<u64>,
    /// The bytes of the longest file that a process can write (`RLIMIT_FSIZE`). Beyond that it gets SIGXFSZ.
    #[serde(with = "bytes")]
    pub file_size: Option<u64>,
    /// The CPU time of each process, in whole seconds (`RLIMIT_CPU`). Then it gets SIGXCPU, and SIGKILL after 5 s more.
    #[serde(with = "time")]
    pub cpu: Option<Duration>,
}

/// The CPU time between SIGXCPU and SIGKILL, in seconds.
const CPU_GRACE: u64 = 5;

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: Some(1024),
            ..Self::NONE
        }
    }
}

/// The limits that a process gets, in the order of their encoding.
const RESOURCES: [Resource; 4] = [
    Resource::Data,
    Resource::Nproc,
    Resource::Fsize,
    Resource::Cpu,
];

/// The limits of the kernel for a process, in the order of [`RESOURCES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelLimits(pub(crate) [Option<u64>; RESOURCES.len()]);

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        memory: None,
        processes: None,
        file_size: None,
        cpu: None,
    };

    /// Returns the limits for a process of this user.
    pub(crate) fn for_kernel(&self) -> KernelLimits {
        KernelLimits([
            self.memory,
            self.processes
                .map(|processes| tasks_of_user().saturating_add(processes)),
            self.file_size,
            // Less than a second is a second: the kernel takes 0 for 1.
            self.cpu.map(|cpu| cpu.as_secs().max(1)),
        ])
    }
}

impl KernelLimits {
    /// Lowers the limits of this process. Limits that are lower already stay.
    pub(crate) fn apply(&self) -> rustix::io::Result<()> {
        for (resource, limit) in RESOURCES.into_iter().zip(self.0) {
            let Some(limit) = limit else {
                continue;
            };
            let grace = if resource == Resource::Cpu {
                CPU_GRACE
            } else {
                0
            };
            let before = getrlimit(resource);
            let new = Rlimit {
                current: lower(before.current, Some(limit)),
                maximum: lower(before.maximum, Some(limit.saturating_add(grace))),
            };
            setrlimit(resource, new)?;
        }
        Ok(())
    }
}

/// Returns the lower limit; `None` is no limit.
fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (limit, None) | (None, limit) => limit,
    }
}

/// Returns how many processes and threads this user has.
fn tasks_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter(|entry| {
        let name = entry.file_name();
        let is_process = name
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok());
        is_process && entry.metadata().is_ok_and(|data| data.uid() == user)
    });
    let tasks = processes.map(|process| match fs::metadata(process.path().join("task")) {
        // The directory has a link for each thread, and two of its own.
        Ok(tasks) => tasks.nlink().saturating_sub(2).max(1),
        Err(_) => 0,
    });
    tasks.sum()
}
