//! The spawner: a small program of one thread that forks a supervisor for each command.
//!
//! It runs with an empty environment, in a process apart from the host, so that a fork copies next to nothing and no secret is
//! near a command. If a supervisor is killed, its orphans become children of the spawner, which kills them. The spawner ends
//! when the host has closed its socket and no supervisor or orphan is left. If commands are kept, that can be long after the host.
//!
//! Where the machine offers namespaces, each chat has a spawner in namespaces of its own, which the first spawner forks: see
//! `within`. It is the same program, and the first process there.

mod command_limits;
mod connect;
mod events;
mod holding;
mod layers;
mod namespaces;
mod shell;
mod spare;
mod start;
mod supervisor;
mod terminal;
mod within;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::EpollTimeout;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use rustix::process::WaitOptions;

use super::own_children::OwnChildren;
use super::proc;
use super::sys::{self, Side};
use super::tree::{ROUND_MS, Tree};
use super::wire::{FRAME, Frame};
use command_limits::CommandLimits;
use events::Events;
use start::Start;
use toolhost_state::own_limits::OwnLimits;

/// How often the spawner sends SIGCONT to the supervisors after the host is gone, in milliseconds: a supervisor that a command
/// stopped could not end its processes.
const NUDGE_MS: u16 = 200;

/// After how many nudges a supervisor that is still stopped is killed. The spawner then kills its processes.
const MOST_NUDGES: u32 = 10;

/// How often the supervisor of a kept command may be stopped without a host. After that it is killed, and its command with it.
const MOST_STOPS: u32 = 1000;

/// After how many nudges any supervisor is killed. Its processes should be gone by then; the spawner kills the rest.
const LAST_NUDGE: u32 = 25;

struct Spawner {
    own: OwnChildren,
    /// `None` once the host is gone.
    host: Option<OwnedFd>,
    events: Events,
    /// The supervisors that this spawner started, and the spawners of chats, which end by themselves as well.
    supervisors: HashSet<i32>,
    /// The limits of the spawner and its supervisors, even after a command has lowered them.
    limits: OwnLimits,
    /// The limits that commands begin with.
    of_commands: CommandLimits,
    /// Whether its commands are those of one chat, in one sandbox.
    is_of_chat: bool,
    /// Whether its commands outlive the host.
    keeps: bool,
    /// How often each supervisor of a kept command was stopped since the host is gone.
    stops: HashMap<i32, u32>,
    /// Whether orphans of a dead supervisor may be left, and how long to wait before the next look at them.
    orphans: Option<u16>,
}

/// Runs the spawner until the host and all supervisors are gone. Its socket to the host is standard input.
pub fn run() -> ! {
    match Spawner::begin() {
        Ok(mut spawner) => {
            spawner.work();
            sys::exit(0)
        }
        Err(_) => sys::exit(1),
    }
}

impl Spawner {
    fn begin() -> io::Result<Self> {
        nix::sys::prctl::set_dumpable(false)?;
        nix::sys::prctl::set_child_subreaper(true)?;
        // Only SIGKILL and SIGSTOP reach the spawner: a Ctrl-C in the host's terminal is for the host.
        sys::default_signals(&SigSet::all())?;
        // A command may have stopped the spawner. SIGCONT at the end of the host then resumes it, so that it sees that end.
        nix::sys::prctl::set_pdeathsig(Signal::SIGCONT)?;
        _ = nix::unistd::setsid();
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        let null = std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/null")?;
        for standard in 0..3 {
            sys::duplicate(null.as_fd(), standard)?;
        }
        sys::close_all_but(&[socket.as_raw_fd()])?;
        // `null` was closed above, so it must not close its number again.
        std::mem::forget(null);
        sys::send(socket.as_fd(), &Frame::Ready.encode(), &[])?;
        let of_commands = CommandLimits::take();
        let limits = OwnLimits::read();
        let first = spare::fork(&limits, of_commands, false);
        if let Ok((_, commands)) = &first {
            _ = sys::send(
                socket.as_fd(),
                &Frame::Spare.encode(),
                &[commands.as_raw_fd()],
            );
        }
        let first = first.ok().map(|(pid, _)| pid);
        Self::new(socket, (limits, of_commands), first)
    }

    /// `first` is a supervisor that was forked before.
    fn new(
        host: OwnedFd,
        (limits, of_commands): (OwnLimits, CommandLimits),
        first: Option<Pid>,
    ) -> io::Result<Self> {
        let events = Events::new()?;
        events.listen_to(&host)?;
        Ok(Self {
            own: OwnChildren::open(),
            events,
            host: Some(host),
            supervisors: first.into_iter().map(Pid::as_raw).collect(),
            limits,
            of_commands,
            is_of_chat: false,
            keeps: false,
            stops: HashMap::new(),
            orphans: None,
        })
    }

    fn work(&mut self) {
        let mut nudged = Instant::now();
        let mut nudges = 0;
        while !self.is_done() {
            let timeout = match (self.orphans, &self.host) {
                (Some(pause), _) => EpollTimeout::from(pause),
                // A supervisor that is stopped is an event.
                (None, None) if self.keeps => EpollTimeout::NONE,
                (None, None) => EpollTimeout::from(NUDGE_MS),
                (None, Some(_)) => EpollTimeout::NONE,
            };
            let has_message = self.events.wait(timeout);
            // Zombies count as processes, of which the start that the message asks for may need some.
            self.reap();
            if has_message {
                self.serve();
            }
            self.end_orphans();
            if self.host.is_none()
                && !self.keeps
                && nudged.elapsed() >= Duration::from_millis(NUDGE_MS.into())
            {
                nudged = Instant::now();
                nudges += 1;
                for supervisor in &self.supervisors {
                    let stopped = proc::status(*supervisor).is_some_and(|status| status.stopped);
                    // A supervisor that is stopped again and again never gets to its work.
                    let hopeless = nudges > if stopped { MOST_NUDGES } else { LAST_NUDGE };
                    let signal = if hopeless {
                        Signal::SIGKILL
                    } else {
                        Signal::SIGCONT
                    };
                    _ = kill(Pid::from_raw(*supervisor), signal);
                }
            }
        }
    }

    /// Returns whether the host is gone and no supervisor or orphan is left.
    fn is_done(&mut self) -> bool {
        if self.host.is_some() || !self.supervisors.is_empty() || self.orphans.is_some() {
            return false;
        }
        let alone = self.own.are_gone();
        if !alone {
            self.orphans = Some(ROUND_MS.0);
        }
        alone
    }

    /// Receives one message from the host.
    fn serve(&mut self) {
        let Some(host) = &self.host else {
            return;
        };
        // Restore the limits before the descriptors of a message count against them.
        self.limits.restore();
        let mut frame = [0; FRAME];
        match sys::receive(host.as_fd(), &mut frame) {
            Ok((FRAME, fds)) => match Frame::decode(frame) {
                Ok(message @ Frame::Start { .. }) => {
                    if let Some(start) = Start::from_descriptors(message, fds) {
                        self.start(start);
                    }
                }
                Ok(Frame::Keep) => self.keeps = true,
                Ok(Frame::Enter { layered, lets_join }) => {
                    let limits = (&self.limits, self.of_commands);
                    let enter = within::Enter::from_descriptors(fds, layered, lets_join);
                    let started = enter.and_then(|enter| enter.start(limits, self.keeps));
                    self.supervisors.extend(started.map(Pid::as_raw));
                }
                Ok(Frame::Connect { v6 }) => connect::answer(&fds, v6),
                Ok(Frame::Mount { joins }) => {
                    let started = layers::start(fds, joins, self.of_commands);
                    self.supervisors.extend(started.map(Pid::as_raw));
                }
                _ => {}
            },
            Ok((1.., _)) => {}
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => {}
            // The supervisors see the end of their own sockets.
            _ => {
                self.events.forget(host);
                self.host = None;
            }
        }
    }

    /// Forks a supervisor for a command that found none that waits.
    fn start(&mut self, start: Start) {
        // Without a socket, because this process can have no more, the supervisor serves one command.
        let (ours, theirs) = UnixStream::pair().ok().unzip();
        let attached: Vec<_> = ours.iter().map(AsRawFd::as_raw_fd).collect();
        let accepted = Frame::Accepted.encode();
        _ = sys::send(start.control.as_fd(), &accepted, &attached);
        drop(ours);
        match sys::fork(None) {
            Ok(Side::Child) => {
                let (commands, limits) =
                    (theirs.map(OwnedFd::from), (&self.limits, self.of_commands));
                spare::serve(commands.as_ref(), Some(start), limits, self.is_of_chat)
            }
            Ok(Side::Parent(pid)) => {
                self.supervisors.insert(pid.as_raw());
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(Errno::EAGAIN as i32);
                let frame = Frame::Failed { errno }.encode();
                _ = sys::send(start.control.as_fd(), &frame, &[]);
            }
        }
    }

    /// Reaps the zombies. A supervisor that did not end by itself leaves orphans behind. Where one orphan ended, there may be
    /// another that it started just before, which a single look may miss.
    fn reap(&mut self) {
        // Not with nix: it has no names for real-time signals, and would not say which process one of them ended.
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((pid, status))) = rustix::process::wait(options) {
            if status.stopped() {
                // Only a command stops a supervisor, to keep it from ending the command.
                if self.supervisors.contains(&pid.as_raw_pid()) {
                    let signal = self.answer_to_stop(pid.as_raw_pid());
                    _ = kill(Pid::from_raw(pid.as_raw_pid()), signal);
                }
                continue;
            }
            self.stops.remove(&pid.as_raw_pid());
            let supervised = self.supervisors.remove(&pid.as_raw_pid());
            match status.exit_status() {
                Some(0) if supervised => {}
                _ => self.orphans = Some(ROUND_MS.0),
            }
        }
    }

    /// Returns the signal for a supervisor that was stopped. Without the host, one that is stopped again and again would never get to its
    /// work.
    fn answer_to_stop(&mut self, supervisor: i32) -> Signal {
        if self.host.is_some() {
            return Signal::SIGCONT;
        }
        let stops = self.stops.entry(supervisor).or_default();
        *stops += 1;
        if *stops > MOST_STOPS {
            Signal::SIGKILL
        } else {
            Signal::SIGCONT
        }
    }

    fn end_orphans(&mut self) {
        let Some(pause) = self.orphans else {
            return;
        };
        let tree = Tree::below_own(&self.own).without(&self.supervisors);
        if tree.members().is_empty() {
            self.orphans = None;
        } else {
            tree.kill();
            self.orphans = Some((pause * 2).min(ROUND_MS.1));
            // The killed processes are gone in a moment. If some are reaped now, the next look comes after the short pause.
            self.reap();
        }
    }
}

/// Returns the timeout that ends at a moment, or soon after it.
fn until(moment: Instant) -> EpollTimeout {
    let left = moment.saturating_duration_since(Instant::now());
    EpollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX)
}
