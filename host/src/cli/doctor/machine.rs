//! The checks that start no process: kernel, user, limits, and state directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, Uid, User};

use super::Check;
use toolhost_local::process::{Config, Level, Room, TEMPORARY_VARIABLES, lists_children};
use toolhost_sandbox::{Mode, may_use_openat2};
use toolhost_service::{CHOOSE, errors};
use toolhost_state::state_dir::{StateDir, StateDirError, holder, is_full};

/// How many idle chats fit at least on a machine that has enough room.
const FEW_CHATS: u64 = 200;

/// The free space of the state directory below which saving output is going to fail soon, in bytes.
const LITTLE_SPACE: u64 = 1 << 30;

/// Returns the checks of the machine. `is_confined` says whether commands run in a sandbox that keeps them from this host's files
/// and processes.
pub(super) fn checks(is_confined: bool) -> Vec<Check> {
    vec![kernel(), user(is_confined), memory(is_confined), chats()]
}

fn kernel() -> Check {
    const NAME: &str = "kernel";
    let release = match nix::sys::utsname::uname() {
        Ok(name) => name.release().to_string_lossy().into_owned(),
        Err(error) => return Check::failed(NAME, error.to_string(), "run it on Linux"),
    };
    if let Err(error) = may_use_openat2() {
        return Check::failed(
            NAME,
            format!(
                "Linux {release} does not let this program use openat2 ({error}): no command starts"
            ),
            "Linux has it from 5.6 on; a container runtime, or RestrictSUIDSGID= of a systemd unit, may forbid it",
        );
    }
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

fn user(is_confined: bool) -> Check {
    const NAME: &str = "user";
    let uid = Uid::effective();
    let name = User::from_uid(uid)
        .ok()
        .flatten()
        .map_or_else(|| uid.to_string(), |user| user.name);
    if is_confined {
        let text = format!(
            "commands of all chats run as {name}, like this host, each in a sandbox; they share the workspace"
        );
        match uid.is_root() {
            false => Check::ok(NAME, text),
            true => Check::warning(
                NAME,
                text,
                "run it as a user of its own: root keeps capabilities in the sandbox, and the limit of processes does not apply",
            ),
        }
    } else if uid.is_root() {
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

fn memory(is_confined: bool) -> Check {
    const NAME: &str = "memory";
    if is_confined {
        return Check::ok(
            NAME,
            "commands can neither attach to this host nor change its compiled code",
        );
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if Uid::effective().is_root() {
        return Check::warning(
            NAME,
            "commands that run as root can read this host's memory",
            "run it as a user of its own",
        );
    }
    let scope = match scope.trim() {
        "" => String::new(),
        scope => format!(" (ptrace_scope is {scope})"),
    };
    match nix::sys::prctl::get_dumpable() {
        Ok(false) => Check::warning(
            NAME,
            format!(
                "commands cannot attach to this host{scope}; they can change the compiled code in its state directory, \
                 which it runs when it loads a plugin again"
            ),
            "run the host in a container or virtual machine of its own, if commands are not to be trusted with its secrets",
        ),
        _ => Check::failed(
            NAME,
            "this host can be read by the commands that it runs",
            "PR_SET_DUMPABLE is refused here: find out what refuses it",
        ),
    }
}

/// Counts the chats for which there is room. A chat in which a command has run keeps a process and descriptors for some time.
fn chats() -> Check {
    const NAME: &str = "chats";
    let room = Room::read();
    let Some((chats, level)) = room.chats() else {
        return Check::ok(NAME, "nothing limits descriptors and processes");
    };
    let Level {
        what,
        setting,
        used,
        limit,
        ..
    } = level;
    let text = format!(
        "there is room for about {chats} chats that ran a command lately: {used} of {limit} {what} are used ({setting}); further chats take the place of those that are idle for longest"
    );
    match chats < FEW_CHATS {
        true => Check::warning(
            NAME,
            text,
            format!("if more chats are busy at the same time, raise {setting}"),
        ),
        false => Check::ok(NAME, text),
    }
}

/// Checks the directory in which commands run. It may be unsuitable for a reason, and the operator may want it anyway.
pub(super) fn workspace(
    path: anyhow::Result<PathBuf>,
    unsuitable: Option<String>,
    anyway: bool,
) -> Check {
    const NAME: &str = "workspace";
    const ADVICE: &str =
        "name a directory that is there and that this user can use with --workspace";
    let path = match path {
        Ok(path) => path,
        Err(error) => return Check::failed(NAME, errors::full_text(&error), ADVICE),
    };
    let shown = path.display();
    match unsuitable {
        Some(reason) if anyway => {
            let advice = "commands and tools can use all files there but keys and the files of Toolhost; leave out --workspace-anyway and choose a directory below";
            return Check::warning(NAME, reason, advice);
        }
        Some(reason) => return Check::failed(NAME, reason, CHOOSE),
        None => {}
    }
    match fs::read_dir(&path) {
        Err(error) => {
            let error = anyhow::Error::from(error).context(format!("{shown} cannot be used"));
            Check::failed(NAME, errors::full_text(&error), ADVICE)
        }
        Ok(_) => match nix::unistd::access(&path, AccessFlags::W_OK | AccessFlags::X_OK) {
            Ok(()) => Check::ok(NAME, shown.to_string()),
            Err(_) => Check::warning(
                NAME,
                format!("{shown}, in which this user can make no files"),
                "commands can read there, and write elsewhere only",
            ),
        },
    }
}

/// Checks the state directory, which has compiled code, outputs and records. If the operator named one that cannot be used,
/// commands do not start.
pub(super) fn state_directory(path: Option<&Path>, named: bool) -> Check {
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
        Check::failed(
            NAME,
            errors::full_text(&error.into()),
            "name another with --state-dir",
        )
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
    if let Err(error) = writable(&directory) {
        let why = errors::without_numbers(error.to_string());
        let text = format!("nothing can be written in {shown}: {why}");
        const SERVE: &str = "`serve` and `agent` need --token-file or TOOLHOST_TOKEN";
        return if is_full(&error) {
            Check::warning(
                NAME,
                text,
                format!(
                    "commands run, but code may be compiled each time, output is not saved, calls are not recorded and the audit trail has gaps; {SERVE}: free space, or name another with --state-dir"
                ),
            )
        } else if named {
            Check::failed(
                NAME,
                text,
                "`call`, `serve` and `mcp` refuse to begin with it: free space, or name another with --state-dir",
            )
        } else {
            Check::warning(
                NAME,
                text,
                "commands run, but code is compiled each time, output is not saved, calls are not recorded, and there is no audit trail: free space, or name another with --state-dir",
            )
        };
    }
    free_space(path)
}

/// Checks the free space of a state directory.
pub(super) fn free_space(path: &Path) -> Check {
    const NAME: &str = "state";
    let shown = path.display();
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

/// Makes and removes a file, as a host does.
fn writable(directory: &StateDir) -> io::Result<()> {
    let name = format!(".doctor-{}", std::process::id());
    let written = directory.write(&name, &[0; 4096]);
    let removed = directory.remove(&name);
    written.and(removed)
}

/// Lists the variables of this environment that commands get.
pub(super) fn environment(config: &Config) -> Check {
    let environment = &config.environment;
    let is_confined = config.sandbox.mode != Mode::Off;
    let temporary = TEMPORARY_VARIABLES.into_iter().filter(|_| is_confined);
    let mut passed: Vec<_> = environment.names().collect();
    let own: BTreeSet<_> = environment.own_names().chain(temporary).collect();
    passed.retain(|name| !own.contains(name));
    let own: Vec<_> = own.into_iter().collect();
    Check::ok(
        "environment",
        format!(
            "commands get {} variables: {} of this host ({}), and {} of Toolhost ({})",
            passed.len() + own.len(),
            passed.len(),
            passed.join(" "),
            own.len(),
            own.join(" ")
        ),
    )
}
