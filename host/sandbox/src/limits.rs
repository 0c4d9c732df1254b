//! Resource limits of commands, and the kernel's limits for each process that enforce them.

mod written;

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};
use serde::{Deserialize, Serialize};
use toolhost_state::proc::tasks_of;

use written::{bytes, count, time};

/// Resource limits of commands. `None` is no limit; the configuration writes `"none"`.
///
/// The kernel enforces each limit for a single process, and children inherit it. In a cgroup, `memory.max` and `pids.max` limit a
/// command as a whole, which is better. With such a cgroup, set `memory` and `processes` to `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The bytes of private writable memory of each process (`RLIMIT_DATA`).
    ///
    /// The limit counts reserved memory, even if the process has not touched it. `RLIMIT_AS` would count address space, of which Go,
    /// Java and Node.js reserve far more than they use. The kernel has no such limit for shared memory, or for several processes together.
    #[serde(with = "bytes")]
    pub memory: Option<u64>,
    /// How many processes and threads commands can add (`RLIMIT_NPROC`).
    ///
    /// The kernel does not limit root, and counts more than those of the command. From Linux 5.14 on, it counts all of the namespaces of its
    /// chat, which have at most half of what the user may have. Before, it counts all of the user, and the limit is this number plus the
    /// number of those that are there when the sandbox is prepared. Commands share this room.
    #[serde(with = "count")]
    pub processes: Option<u64>,
    /// The most bytes of a file that a process can write (`RLIMIT_FSIZE`). Beyond that, the process gets SIGXFSZ.
    #[serde(with = "bytes")]
    pub file_size: Option<u64>,
    /// The CPU time of each process, in whole seconds (`RLIMIT_CPU`). After that, the process gets SIGXCPU, and SIGKILL 5 s later.
    #[serde(with = "time")]
    pub cpu: Option<Duration>,
}

/// The CPU time between SIGXCPU and SIGKILL, in seconds.
const CPU_GRACE: u64 = 5;

/// How many processes the spawner of a chat and its spare supervisors are, at most.
const TASKS_OF_SPAWNER: u64 = 16;

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: Some(1024),
            ..Self::NONE
        }
    }
}

/// The limited resources, in the order of their encoding.
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

    /// Returns the kernel's limits for a process of this user. `is_apart`: it is in new namespaces.
    pub(crate) fn for_kernel(&self, is_apart: bool) -> KernelLimits {
        let with_others = |processes: u64| match is_apart && counts_by_namespace() {
            true => lower(
                Some(TASKS_OF_SPAWNER.saturating_add(processes)),
                getrlimit(Resource::Nproc).current.map(|all| all / 2),
            ),
            false => Some(tasks_of(getuid().as_raw()).saturating_add(processes)),
        };
        KernelLimits([
            self.memory,
            self.processes.and_then(with_others),
            self.file_size,
            // The kernel treats a limit of 0 as 1.
            self.cpu.map(|cpu| cpu.as_secs().max(1)),
        ])
    }
}

impl KernelLimits {
    /// Lowers the limits of this process. Limits that are already lower are kept.
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

/// Returns whether the kernel counts the processes of a user for each user namespace. Linux 5.14 began with that.
fn counts_by_namespace() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number()
        .zip(number())
        .is_some_and(|version| version >= (5, 14))
}
