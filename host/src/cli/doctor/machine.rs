//! What can be seen without starting anything: the kernel, the user, limits, the state directory.

use std::fs;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{Uid, User};

use super::Check;
use crate::process::{Environment, Limits, lists_children};
use crate::state_dir::{StateDir, StateDirError, holder};

/// How many descriptors a live process takes, at most, and the host itself before there is one.
const DESCRIPTORS_EACH: u64 = 4;
const DESCRIPTORS_OF_HOST: u64 = 20;

/// The free space of the state directory below which saving output is going to fail soon, in bytes.
const LITTLE_SPACE: u64 = 1 << 30;

pub(super) fn checks() -> Vec<Check> {
    vec![kernel(), user(), memory(), descriptors()]
}

fn kernel() -> Check {
    const NAME: &str = "kernel";
    let release = match nix::sys::utsname::uname() {
        Ok(name) => name.release().to_string_lossy().into_owned(),
        Err(error) => return Check::failed(NAME, error.to_string(), "run it on Linux"),
    };
    if lists_children() {
        Check::ok(NAME, format!("Linux {release}"))
    } else {
        Check::warning(
            NAME,
            format!("Linux {release}, which does not list the children of a process"),
            "signals are slower; a kernel with CONFIG_PROC_CHILDREN is not",
        )
    }
}

fn user() -> Check {
    const NAME: &str = "user";
    let uid = Uid::effective();
    let name = User::from_uid(uid)
        .ok()
        .flatten()
        .map_or_else(|| uid.to_string(), |user| user.name);
    if uid.is_root() {
        Check::warning(
            NAME,
            "commands run as root: they can read and end everything on this machine, this host included",
            "run it as a user of its own",
        )
    } else {
        Check::warning(
            NAME,
            format!("commands of all chats run as {name}, like this host"),
            "they can read each other's files and end each other's processes; give chats that must not a host each",
        )
    }
}

fn memory() -> Check {
    const NAME: &str = "memory";
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let text = match (Uid::effective().is_root(), scope.trim()) {
        (true, _) => {
            return Check::warning(
                NAME,
                "commands that run as root can read this host's memory",
                "run it as a user of its own",
            );
        }
        (false, "") => "commands cannot read this host's memory".to_owned(),
        (false, scope) => {
            format!("commands cannot read this host's memory (ptrace_scope is {scope})")
        }
    };
    match nix::sys::prctl::get_dumpable() {
        Ok(false) => Check::ok(NAME, text),
        _ => Check::failed(
            NAME,
            "this host can be read by the commands that it runs",
            "PR_SET_DUMPABLE is refused here: find out what refuses it",
        ),
    }
}

fn descriptors() -> Check {
    const NAME: &str = "descriptors";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) => {
            let room = soft.saturating_sub(DESCRIPTORS_OF_HOST) / DESCRIPTORS_EACH;
            let text = format!("{soft} of at most {hard}: room for about {room} processes at once");
            if room < Limits::default().live_per_chat as u64 {
                Check::warning(
                    NAME,
                    text,
                    "one chat may have more: raise it with `ulimit -n`",
                )
            } else {
                Check::ok(NAME, text)
            }
        }
        Err(error) => Check::failed(NAME, error.to_string(), "look at `ulimit -n`"),
    }
}

/// Looks at the place where code, outputs and the journal are kept.
pub(super) fn state_directory(path: Option<&Path>) -> Check {
    const NAME: &str = "state";
    let Some(path) = path else {
        return Check::warning(
            NAME,
            "there is no state directory, as neither XDG_STATE_HOME nor HOME is set",
            "name one with --state-dir, or ids of processes are forgotten with the host",
        );
    };
    let shown = path.display();
    let unusable = |error: StateDirError| {
        let error = anyhow::Error::from(error);
        Check::failed(NAME, format!("{error:#}"), "name another with --state-dir")
    };
    let directory = match StateDir::open(path) {
        Ok(directory) => directory,
        Err(error) => return unusable(error),
    };
    match directory.lock() {
        Ok(_) => {}
        Err(StateDirError::Locked { pid, .. }) => {
            let holder = holder(pid);
            return Check::ok(NAME, format!("{shown}, in use by another toolhost{holder}"));
        }
        Err(error) => return unusable(error),
    }
    let free = nix::sys::statvfs::statvfs(path)
        .map(|stat| stat.blocks_available().saturating_mul(stat.fragment_size()));
    match free {
        Ok(free) if free < LITTLE_SPACE => Check::warning(
            NAME,
            format!("{shown}, with {} MiB free", free >> 20),
            "where no space is left, commands run on and their output is not saved",
        ),
        Ok(free) => Check::ok(NAME, format!("{shown}, with {} GiB free", free >> 30)),
        Err(error) => Check::failed(
            NAME,
            format!("{shown}: {error}"),
            "name another with --state-dir",
        ),
    }
}

/// Shows what commands get of this host's environment.
pub(super) fn environment(environment: &Environment) -> Check {
    let names: Vec<_> = environment.names().collect();
    Check::ok(
        "environment",
        format!(
            "commands get {} variables: {}",
            names.len(),
            names.join(" ")
        ),
    )
}
