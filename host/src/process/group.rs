//! One process group: spawning its leader, waiting for it without reaping, signalling all of it.
//!
//! The only place that starts a process, and with `survivors` and `command` the only one that names `nix`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeReader, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use super::survivors::{self, Member};

/// How the leader of a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(Signal),
}

/// A process group whose leader this host started.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    /// Whether the leader was reaped. Until then its number cannot name another group, so signals may go to the number;
    /// the lock keeps a signal and the reaping apart.
    reaped: Mutex<bool>,
}

/// A group that was just started.
pub(super) struct Spawned {
    pub(super) group: Group,
    /// Readable once the leader has exited. Whoever watches it closes it then: an ended process must hold no descriptor.
    pub(super) pidfd: OwnedFd,
    /// Standard output and error, merged.
    pub(super) output: PipeReader,
}

/// What a group is started with.
pub(super) struct Spawn<'a> {
    pub(super) shell: &'a Path,
    pub(super) command: &'a str,
    pub(super) workdir: &'a Path,
    pub(super) env: &'a BTreeMap<OsString, OsString>,
    pub(super) stdin: Option<&'a [u8]>,
}

impl Group {
    /// Starts a shell as the leader of a new group.
    pub(super) fn spawn(spawn: &Spawn<'_>) -> io::Result<Spawned> {
        let (reader, writer) = io::pipe()?;
        let stdin = match spawn.stdin {
            None => Stdio::null(),
            Some(bytes) => {
                // A file, not a pipe: nobody has to feed it, whatever the command does with it.
                let mut file = tempfile::tempfile()?;
                file.write_all(bytes)?;
                file.rewind()?;
                file.into()
            }
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that starts processes"
        )]
        let child = std::process::Command::new(spawn.shell)
            .arg("-c")
            .arg(spawn.command)
            .current_dir(spawn.workdir)
            .env_clear()
            .envs(spawn.env)
            .stdin(stdin)
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        // Nobody else waits for this child, so its number is its own until it is reaped here.
        let leader = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let pidfd = rustix::process::Pid::from_raw(leader.as_raw())
            .ok_or_else(|| io::Error::other("the child has no process id"))
            .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::NONBLOCK)?));
        match pidfd {
            Ok(pidfd) => Ok(Spawned {
                group: Self {
                    leader,
                    reaped: Mutex::new(false),
                },
                pidfd,
                output: reader,
            }),
            Err(error) => {
                kill_and_reap(leader);
                Err(error)
            }
        }
    }

    /// Ends a group that nobody is going to watch, and waits for its leader.
    pub(super) fn abandon(&self) {
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            kill_and_reap(self.leader);
            *reaped = true;
        }
    }

    /// Returns how the leader ended, or `None` if it runs. It stays a zombie.
    pub(super) fn peek_exit(&self) -> io::Result<Option<Exit>> {
        self.wait(WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT)
    }

    /// Removes the zombie of the leader. Nothing happens while it runs.
    pub(super) fn reap(&self) {
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if *reaped {
            return;
        }
        match self.wait(WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(exit) => *reaped = exit.is_some(),
            Err(error) => {
                // Somebody else reaped it, so its number is not ours any more.
                tracing::warn!(pid = self.leader.as_raw(), %error, "failed to reap a process");
                *reaped = true;
            }
        }
    }

    fn wait(&self, flags: WaitPidFlag) -> io::Result<Option<Exit>> {
        match waitid(Id::Pid(self.leader), flags)? {
            WaitStatus::Exited(_, code) => Ok(Some(Exit::Code(code))),
            WaitStatus::Signaled(_, signal, _) => Ok(Some(Exit::Signal(signal))),
            _ => Ok(None),
        }
    }

    /// Sends a signal to every member. That there is none left is no error.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            return match killpg(self.leader, signal) {
                Ok(()) | Err(Errno::ESRCH) => Ok(()),
                // Some member, such as a setuid program, may not be signalled; the others were.
                Err(Errno::EPERM) => Err(io::Error::from(Errno::EPERM)),
                Err(errno) => Err(errno.into()),
            };
        }
        // The number may name a stranger's group by now, so members are looked up and signalled one by one. One that may
        // not be signalled, such as a setuid program, must not shield the others.
        let members = survivors::members(self.leader.as_raw());
        let results = members
            .iter()
            .map(|member| signal_member(member, self.leader.as_raw(), signal));
        results.fold(Ok(()), Result::and)
    }

    /// Returns whether nothing of the group is left, by a look that may be as old as this. Zombies that nobody reaps do not
    /// count.
    pub(super) fn is_empty(&self, max_age: Duration) -> bool {
        let reaped = *self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        reaped
            && (killpg(self.leader, None) == Err(Errno::ESRCH)
                || !survivors::has_members(self.leader.as_raw(), max_age))
    }

    /// Returns the members that live, without the leader.
    pub(super) fn members(&self) -> Vec<Member> {
        survivors::members(self.leader.as_raw())
    }
}

fn kill_and_reap(leader: Pid) {
    _ = killpg(leader, Signal::SIGKILL);
    _ = nix::sys::wait::waitpid(leader, None);
}

/// Signals one member through a descriptor, and only if that still names a member.
fn signal_member(member: &Member, group: i32, signal: Signal) -> io::Result<()> {
    let Some(pid) = rustix::process::Pid::from_raw(member.pid) else {
        return Ok(());
    };
    let Some(raw) = rustix::process::Signal::from_named_raw(signal as i32) else {
        return Ok(());
    };
    // The descriptor names one process for good. It is checked after it was opened, so a number that was handed out again
    // in between is noticed.
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return Ok(());
    };
    if !survivors::is_member(member.pid, group) {
        return Ok(());
    }
    match pidfd_send_signal(&pidfd, raw) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Finds the shell in a search path, as an absolute path.
pub(super) fn find_shell(path: &std::ffi::OsStr) -> Option<PathBuf> {
    let candidates = std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("sh"));
    std::iter::once(PathBuf::from("/bin/sh"))
        .chain(candidates)
        .find(|shell| {
            nix::unistd::access(shell, nix::unistd::AccessFlags::X_OK).is_ok() && shell.is_file()
        })
}
