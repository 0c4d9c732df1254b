//! One process: what others may ask of it while its task (see `lifecycle`) moves it along.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;
use tokio::time::Instant;

use super::group::{Exit, Group};
use super::{Capture, Cause, Chunk, Error, ExitStatus, Signal, State, Survivor};

/// One command with everything that it started.
#[derive(Debug)]
pub struct Process {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) workdir: PathBuf,
    pub(super) background: bool,
    pub(super) started: SystemTime,
    pub(super) group: Group,
    pub(super) progress: Mutex<Progress>,
    /// Told after every change of the state.
    pub(super) changed: watch::Sender<()>,
    /// Told after every chunk of output. Apart from the state, so that who waits for the end of a command is not woken by
    /// each of its lines: a waiting guest would pay for that with its time.
    pub(super) grown: watch::Sender<()>,
}

/// What changes while a process runs.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) capture: Capture,
    /// How the shell ended, once it did.
    pub(super) exit: Option<Exit>,
    /// Whether the output of the ended shell was drained: from then on it has finished for everyone.
    pub(super) drained: bool,
    /// Whether something outlives the shell.
    pub(super) lingering: bool,
    /// Whether the end of the output was read.
    pub(super) output_ended: bool,
    pub(super) exited: Option<(SystemTime, Instant)>,
    pub(super) last_output: Option<SystemTime>,
    /// The signals that were sent through this host, as a set of bits, and on whose behalf.
    pub(super) sent: u64,
    pub(super) sent_for: Option<Cause>,
    /// When a process that was asked to end is killed.
    pub(super) kill_at: Option<Instant>,
}

/// State and bounded output of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Where the process stands.
    pub state: State,
    /// How many bytes were written so far.
    pub total: u64,
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes that are not in the head.
    pub tail: Vec<u8>,
    /// What outlives the shell; empty while the shell runs.
    pub survivors: Vec<Survivor>,
}

/// One process in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its id.
    pub id: String,
    /// The command as it was started, cut at 2 KiB.
    pub command: String,
    /// The absolute directory in which it was started.
    pub workdir: PathBuf,
    /// Whether it was started as a background process.
    pub background: bool,
    /// Where it stands.
    pub state: State,
    /// When it was started.
    pub started: SystemTime,
    /// When the shell exited.
    pub exited: Option<SystemTime>,
    /// When it last wrote.
    pub last_output: Option<SystemTime>,
    /// How many bytes were written so far.
    pub total: u64,
}

impl Process {
    /// Returns the id, unique in this host.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the command as it was started.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the absolute directory in which it was started.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// Returns where it stands.
    pub fn state(&self) -> State {
        self.progress().state()
    }

    /// Returns state and bounded output of this moment.
    pub fn snapshot(&self) -> Snapshot {
        let (state, total, head, tail) = {
            let progress = self.progress();
            let capture = &progress.capture;
            (
                progress.state(),
                capture.total(),
                capture.head(),
                capture.tail(),
            )
        };
        let survivors = match state {
            State::Lingering(_) => self
                .group
                .members()
                .iter()
                .map(|member| member.describe())
                .collect(),
            _ => Vec::new(),
        };
        Snapshot {
            state,
            total,
            head,
            tail,
            survivors,
        }
    }

    /// Returns at most `max` bytes of output from the cursor `since` on, as far as memory has them.
    pub fn read(&self, since: u64, max: usize) -> Chunk {
        let progress = self.progress();
        let chunk = progress.capture.read(since, max);
        let at_end = chunk.offset + chunk.data.len() as u64 == chunk.total;
        Chunk {
            end: at_end && progress.output_ended,
            ..chunk
        }
    }

    /// Returns what a list shows of it.
    pub fn info(&self) -> Info {
        let progress = self.progress();
        Info {
            id: self.id.clone(),
            command: clip(&self.command),
            workdir: self.workdir.clone(),
            background: self.background,
            state: progress.state(),
            started: self.started,
            exited: progress.exited.map(|(time, _)| time),
            last_output: progress.last_output,
            total: progress.capture.total(),
        }
    }

    /// Sends one signal to the whole group and returns the state after that.
    pub(super) fn send(&self, signal: Signal, cause: Cause) -> Result<State, Error> {
        let raw = nix_signal(signal);
        {
            let mut progress = self.progress();
            if matches!(progress.state(), State::Exited(_)) {
                return Ok(progress.state());
            }
            progress.sent |= bit(raw);
            progress.sent_for.get_or_insert(cause);
        }
        // Without the lock: looking for members takes a while. The group itself keeps signals and reaping apart.
        let signalled = self.group.signal(raw);
        if signal == Signal::Terminate {
            // A stopped process would not see the signal before somebody lets it go on.
            _ = self.group.signal(nix::sys::signal::Signal::SIGCONT);
        }
        signalled.map_err(|error| Error::Failed(format!("signal process: {error}")))?;
        Ok(self.state())
    }

    /// Returns whether everything that a signal can reach was killed through this host.
    pub(super) fn was_killed(&self) -> bool {
        self.progress().sent & bit(nix::sys::signal::Signal::SIGKILL) != 0
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and tells everyone who waits.
    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress());
        self.changed.send_replace(());
    }

    /// Adds output, tells those who wait for some, and returns how much there was in all.
    pub(super) fn push(&self, bytes: &[u8]) -> u64 {
        let total = {
            let mut progress = self.progress();
            progress.capture.push(bytes);
            progress.last_output = Some(SystemTime::now());
            progress.capture.total()
        };
        self.grown.send_replace(());
        total
    }
}

impl Progress {
    pub(super) fn state(&self) -> State {
        match self.exit.filter(|_| self.drained) {
            None => State::Running,
            Some(exit) if self.lingering => State::Lingering(self.status(exit)),
            Some(exit) => State::Exited(self.status(exit)),
        }
    }

    fn status(&self, exit: Exit) -> ExitStatus {
        let sent = |signal: nix::sys::signal::Signal| self.sent & bit(signal) != 0;
        let caused = match exit {
            Exit::Signal(signal) => sent(signal),
            // A handler of SIGTERM that cleans up and exits by itself was still asked to.
            Exit::Code(_) => sent(nix::sys::signal::Signal::SIGTERM),
        };
        let cause = self.sent_for.filter(|_| caused).unwrap_or(Cause::Itself);
        match exit {
            Exit::Code(code) => ExitStatus {
                code: Some(code),
                signal: None,
                cause,
            },
            Exit::Signal(signal) => ExitStatus {
                code: None,
                signal: Some(signal.as_str().to_owned()),
                cause,
            },
        }
    }
}

/// A list of processes must stay small, and a command can have 128 KiB.
fn clip(command: &str) -> String {
    const MOST: usize = 2048;
    match command.get(..command.floor_char_boundary(MOST)) {
        Some(start) if start.len() < command.len() => format!("{start}…"),
        _ => command.to_owned(),
    }
}

/// The place of a signal in a set.
fn bit(signal: nix::sys::signal::Signal) -> u64 {
    1 << signal as u32
}

fn nix_signal(signal: Signal) -> nix::sys::signal::Signal {
    use nix::sys::signal::Signal as Raw;
    match signal {
        Signal::Interrupt => Raw::SIGINT,
        Signal::Terminate => Raw::SIGTERM,
        Signal::Kill => Raw::SIGKILL,
        Signal::Hangup => Raw::SIGHUP,
        Signal::Quit => Raw::SIGQUIT,
        Signal::User1 => Raw::SIGUSR1,
        Signal::User2 => Raw::SIGUSR2,
    }
}
