//! One process group: spawning its leader, waiting for it without reaping, signalling all of it.
//!
//! This is the containment without a spawner. A command can leave its group (`setsid`, `timeout`, a shell with job control).
//! Signals do not reach it then.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::values::{Event, Exit, Spawn, Streams};
use super::{proc, survivors};

/// How long after a look for processes that outlive a shell the next one comes, at first and at the longest. They are not children of this
/// host, so their end is no event.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LINGER_LOOK: Duration = Duration::from_millis(500);

/// A process group whose leader this host started.
#[derive(Debug)]
pub(in crate::process) struct Group {
    leader: Pid,
    /// Whether the leader was reaped. Until then its number cannot name another group, so signals may go to the number;
    /// the lock keeps a signal and the reaping apart.
    reaped: Mutex<bool>,
}

/// The watch for the exit of a leader and the end of its group.
#[derive(Debug)]
pub(in crate::process) struct Watch {
    /// Readable once the leader has exited; `None` after that, as an ended process must hold no descriptor.
    pidfd: Option<AsyncFd<OwnedFd>>,
    gone: bool,
    /// How long after the last look the next one comes.
    pause: Duration,
}

impl Group {
    /// Starts a shell as the leader of a new group.
    pub(super) async fn spawn(spawn: &Spawn<'_>, streams: Streams) -> io::Result<(Self, Watch)> {
        super::ignored::make_default();
        #[expect(
            clippy::disallowed_methods,
            reason = "without a spawner, commands are started here; else program/shell.rs executes the shell"
        )]
        let mut command = Command::new(spawn.shell);
        if spawn.shell.ends_with("bash") {
            // See `program/shell.rs`.
            command.arg("--norc");
        }
        command
            .arg("-c")
            .arg(spawn.command)
            .current_dir(spawn.workdir)
            .env_clear()
            .envs(spawn.env)
            .stdin(streams.stdin)
            .stdout(streams.output.try_clone()?)
            .stderr(streams.output)
            .process_group(0);
        Self::start(command).await
    }

    /// Starts a command line that makes a new group.
    async fn start(mut command: Command) -> io::Result<(Self, Watch)> {
        // On a thread for blocking work, because a file system can hang.
        let child = tokio::task::spawn_blocking(move || command.spawn());
        let child = child.await.map_err(io::Error::other)??;
        // Only this code waits for the child, so its process id is not reused until it is reaped here.
        let leader = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let pidfd = pidfd_open(
            rustix::process::Pid::from_child(&child),
            PidfdFlags::NONBLOCK,
        );
        match pidfd.map_err(io::Error::from).and_then(watch) {
            Ok(pidfd) => {
                let reaped = Mutex::new(false);
                let watch = Watch {
                    pidfd: Some(pidfd),
                    gone: false,
                    pause: FIRST_LOOK,
                };
                Ok((Self { leader, reaped }, watch))
            }
            Err(error) => {
                kill_and_reap(leader);
                // The number of the error is left out: it must not look as if nothing had run.
                Err(io::Error::other(format!(
                    "the command was killed at once, because it cannot be watched: {error}"
                )))
            }
        }
    }

    /// Kills a group that no task is going to watch, and waits for its leader.
    pub(super) fn abandon(&self) {
        let mut reaped = self.reaped.lock();
        if !*reaped {
            kill_and_reap(self.leader);
            *reaped = true;
        }
    }

    /// Reaps the zombie of the leader. Does nothing while the leader runs.
    pub(super) fn reap(&self) {
        let mut reaped = self.reaped.lock();
        if *reaped {
            return;
        }
        match self.wait(WaitIdOptions::empty()) {
            Ok(exit) => *reaped = exit.is_some(),
            Err(error) => {
                // Other code of this host reaped it, so its process id may be reused.
                tracing::warn!(pid = self.leader.as_raw(), %error, "failed to reap a process");
                *reaped = true;
            }
        }
    }

    fn wait(&self, options: WaitIdOptions) -> io::Result<Option<Exit>> {
        let leader = rustix::process::Pid::from_raw(self.leader.as_raw());
        let leader = leader.ok_or(rustix::io::Errno::CHILD)?;
        let status = waitid(
            WaitId::Pid(leader),
            options | WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        )?;
        let code = status.as_ref().and_then(|status| status.exit_status());
        let signal = status.and_then(|status| status.terminating_signal());
        Ok(code.map(Exit::Code).or(signal.map(Exit::Signal)))
    }

    /// Sends a signal to every member. It is no error if no member is left.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let sent = self.send(signal);
        if signal == Signal::SIGTERM {
            // A stopped process does not handle the signal until it is resumed.
            _ = self.send(Signal::SIGCONT);
        }
        sent
    }

    /// Signals the process group. With a spawner, the supervisor signals the whole tree instead: see `tree.rs`.
    fn send(&self, signal: Signal) -> io::Result<()> {
        let reaped = self.reaped.lock();
        if !*reaped {
            return match killpg(self.leader, signal) {
                Ok(()) | Err(Errno::ESRCH) => Ok(()),
                Err(errno) => Err(errno.into()),
            };
        }
        // The process group id may have been reused by now, so the members are looked up and signalled one by one. A member
        // that may not be signalled, such as a setuid program, must not shield the others.
        let group = self.leader.as_raw();
        let is_member = |status: proc::Status| status.lives && status.group == group;
        let members = survivors::members(group).into_iter();
        let results = members.map(|member| proc::signal(member, signal, is_member));
        results.fold(Ok(()), Result::and)
    }

    /// Returns whether no member of the group is left. The answer may be `max_age` old. Unreaped zombies do not count.
    pub(super) fn is_empty(&self, max_age: Duration) -> bool {
        let reaped = *self.reaped.lock();
        reaped
            && (killpg(self.leader, None) == Err(Errno::ESRCH)
                || !survivors::has_members(self.leader.as_raw(), max_age))
    }

    /// Returns the number of the group.
    pub(super) fn number(&self) -> i32 {
        self.leader.as_raw()
    }

    /// Returns whether the leader was reaped, so that its number can name another group.
    pub(super) fn is_reaped(&self) -> bool {
        *self.reaped.lock()
    }

    /// Returns the live members, without the leader.
    pub(super) fn members(&self) -> Vec<i32> {
        survivors::members(self.leader.as_raw())
    }

    /// Returns the processes of the group, with the leader.
    pub(super) fn all(&self) -> Vec<i32> {
        let leader = self.leader.as_raw();
        let mut all = self.members();
        match self.is_reaped() {
            false => all.push(leader),
            // Another group has its number.
            true if proc::is_alive(leader) => all.clear(),
            true => {}
        }
        all
    }
}

impl Watch {
    pub(super) async fn next(&mut self, group: &Group) -> Event {
        if let Some(pidfd) = &mut self.pidfd {
            let event = match exit(group, pidfd).await {
                Ok(exit) => Event::Exited(exit),
                Err(error) => {
                    tracing::error!(pid = group.leader.as_raw(), %error, "failed to wait for a process");
                    group.abandon();
                    Event::Lost("the system does not say what becomes of it, so it was killed")
                }
            };
            self.pidfd = None;
            return event;
        }
        if self.gone {
            return std::future::pending().await;
        }
        while !group.is_empty(self.pause / 2) {
            tokio::time::sleep(self.pause).await;
            self.pause = LINGER_LOOK.min(self.pause * 2);
        }
        self.gone = true;
        Event::Gone
    }
}

/// Waits for the exit of a leader, which stays a zombie.
async fn exit(group: &Group, pidfd: &AsyncFd<OwnedFd>) -> io::Result<Exit> {
    loop {
        let mut ready = pidfd.readable().await?;
        if let Some(exit) = group.wait(WaitIdOptions::NOWAIT)? {
            return Ok(exit);
        }
        ready.clear_ready();
    }
}

/// Registers a descriptor with the runtime: a pidfd, so that the end of the process is an event, or the read end of a pipe. Must be called
/// within a runtime.
pub(in crate::process) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    watch_for(fd, Interest::READABLE)
}

/// Registers a descriptor with the runtime for these events. Must be called within a runtime.
#[expect(
    unsafe_code,
    reason = "tokio wants a promise that the descriptor stays open while it is watched"
)]
pub(in crate::process) fn watch_for(
    fd: OwnedFd,
    interest: Interest,
) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` has one descriptor for as long as it lives, and the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

fn kill_and_reap(leader: Pid) {
    _ = killpg(leader, Signal::SIGKILL);
    _ = nix::sys::wait::waitpid(leader, None);
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// The caller of a command waits for the last event.
    #[tokio::test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a group is started here without a registry"
    )]
    async fn a_group_is_gone_as_soon_as_its_only_process_is_reaped() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 3"]).process_group(0);
        let (group, mut watch) = Group::start(command).await.unwrap();
        assert_eq!(watch.next(&group).await, Event::Exited(Exit::Code(3)));
        group.reap();
        assert_eq!(watch.next(&group).now_or_never(), Some(Event::Gone));
    }
}
