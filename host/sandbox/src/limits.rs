//! How much commands may use, and the limits of the kernel that hold it for each process.

mod written;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use written::wish;
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

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: Some(1024),
            ..Self::NONE
        }
    }
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        memory: None,
        processes: None,
        file_size: None,
        cpu: None,
    };

    pub(crate) fn narrow(&self, wish: &Self) -> Self {
        Self {
            memory: lower(self.memory, wish.memory),
            processes: lower(self.processes, wish.processes),
            file_size: lower(self.file_size, wish.file_size),
            cpu: lower(self.cpu, wish.cpu),
        }
    }

    pub(crate) fn is_within(&self, outer: &Self) -> bool {
        self.narrow(outer) == *self
    }
}

/// Returns the lower limit; `None` is no limit.
fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (limit, None) | (None, limit) => limit,
    }
}
