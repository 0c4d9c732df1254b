//! The limits with which commands begin: less than this host has, so that commands leave it what it needs to go on.
//!
//! The kernel counts descriptors on their way between processes for the user, and compares them with the limit of the sender. It counts
//! processes for the user as well.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};

use crate::process::contain::reserve;

/// The limits of commands. `None` leaves a limit as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommandLimits {
    /// Descriptors, soft and hard.
    descriptors: Option<(rlim_t, rlim_t)>,
    /// Processes of the user.
    processes: Option<rlim_t>,
}

impl CommandLimits {
    /// Derives the limits of commands from those of this process, and raises its own soft limit of descriptors to the hard one, as the
    /// host does.
    pub(super) fn take() -> Self {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).ok();
        if let Some((_, hard)) = descriptors {
            _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
        }
        let processes = getrlimit(Resource::RLIMIT_NPROC).ok();
        let processes = processes.filter(|(soft, _)| *soft != RLIM_INFINITY);
        Self {
            descriptors: descriptors.map(|(soft, hard)| (soft.min(hard / 2), hard / 2)),
            processes: processes.map(|(soft, _)| soft - reserve(soft)),
        }
    }

    /// Lowers the limits of this process, which is about to become a command. Makes only system calls.
    pub(super) fn apply(&self) -> io::Result<()> {
        if let Some((soft, hard)) = self.descriptors {
            match lower(Resource::RLIMIT_NOFILE, soft, hard) {
                // The operator has lowered fs.nr_open below it since: the kernel takes no such limit.
                Err(Errno::EPERM) => {}
                lowered => lowered?,
            }
        }
        if let Some(most) = self.processes {
            lower(Resource::RLIMIT_NPROC, most, most)?;
        }
        Ok(())
    }

    /// Makes user namespaces in which all processes together have no more than the limit of commands: the kernel takes over the soft limit
    /// of the process that makes a namespace, and compares it with the count of the user outside.
    pub(super) fn bounding<T>(&self, make: impl FnOnce() -> T) -> T {
        let own = getrlimit(Resource::RLIMIT_NPROC).ok();
        let lowered = own.zip(self.processes);
        if let Some(((soft, hard), most)) = lowered {
            _ = setrlimit(Resource::RLIMIT_NPROC, soft.min(most), hard);
        }
        let made = make();
        // This also runs in the new process, if there is one: it has the limits of its parent.
        if let Some(((soft, hard), _)) = lowered {
            _ = setrlimit(Resource::RLIMIT_NPROC, soft, hard);
        }
        made
    }
}

fn lower(resource: Resource, soft: rlim_t, hard: rlim_t) -> nix::Result<()> {
    let (own_soft, own_hard) = getrlimit(resource)?;
    setrlimit(resource, soft.min(own_soft), hard.min(own_hard))
}
