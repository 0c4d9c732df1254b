//! The spawner: a small program of one thread that forks a supervisor for each command.
//!
//! It runs with an empty environment, apart from the host, so that a fork copies next to nothing and no secret is near a
//! command. Orphans of a supervisor that somebody killed become its children, and it kills them. It ends when the host has
//! closed its socket and nothing is left to look after.

mod shell;
mod supervisor;

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use rustix::process::WaitOptions;

use super::sys::{self, Side};
use super::tree::{self, Tree};
use super::wire::{FRAME, Frame};

/// How long the next round of a kill may wait, in milliseconds, at first and at most.
const ROUND_MS: (u16, u16) = (2, 500);

/// How often the supervisors of a host that is gone are told to go on, in milliseconds: one that a command stopped could
/// not end what it looks after.
const NUDGE_MS: u16 = 200;

/// After how many of those a supervisor that is still stopped is killed, and what it looked after with it.
const MOST_NUDGES: u32 = 10;

/// The descriptors that come with [`Frame::Start`].
struct Start {
    request: OwnedFd,
    control: OwnedFd,
    output: OwnedFd,
    stdin: OwnedFd,
    cgroup: Option<OwnedFd>,
}

struct Spawner {
    pid: i32,
    /// `None` once the host is gone.
    host: Option<OwnedFd>,
    children: SignalFd,
    supervisors: HashSet<i32>,
    /// Whether orphans of a dead supervisor may be left, and how long to wait before the next look at them.
    orphans: Option<u16>,
}

/// Is the spawner until the host and all supervisors are gone. Its socket to the host is standard input.
pub(crate) fn run() -> ! {
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
        // Only SIGKILL and SIGSTOP reach it: a Ctrl-C in the host's terminal is for the host.
        sys::default_signals(&SigSet::all())?;
        // A command may have stopped it. Then the end of the host lets it go on, which it would not see otherwise.
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
        // Closed above, so its number is not its own any more.
        std::mem::forget(null);
        let spawner = Self {
            pid: std::process::id().cast_signed(),
            children: children_events()?,
            host: Some(socket),
            supervisors: HashSet::new(),
            orphans: None,
        };
        if let Some(host) = &spawner.host {
            sys::send(host.as_fd(), &Frame::Ready.encode(), &[])?;
        }
        Ok(spawner)
    }

    fn work(&mut self) {
        let mut nudged = Instant::now();
        let mut nudges = 0;
        while !self.is_done() {
            let timeout = match (self.orphans, &self.host) {
                (Some(pause), _) => PollTimeout::from(pause),
                (None, None) => PollTimeout::from(NUDGE_MS),
                (None, Some(_)) => PollTimeout::NONE,
            };
            let readable = wait_for(self.host.as_ref(), &self.children, timeout);
            if readable {
                self.serve();
            }
            self.reap();
            self.end_orphans();
            if self.host.is_none() && nudged.elapsed() >= Duration::from_millis(NUDGE_MS.into()) {
                nudged = Instant::now();
                nudges += 1;
                for supervisor in &self.supervisors {
                    let stopped = tree::status(*supervisor).is_some_and(|status| status.stopped);
                    // One that is stopped again and again never gets to its work.
                    let hopeless = stopped && nudges > MOST_NUDGES;
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

    /// Returns whether nobody needs it any more. Whether there are orphans, only the kernel knows for sure.
    fn is_done(&mut self) -> bool {
        if self.host.is_some() || !self.supervisors.is_empty() || self.orphans.is_some() {
            return false;
        }
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let alone = waitid(Id::All, flags) == Err(Errno::ECHILD);
        if !alone {
            self.orphans = Some(ROUND_MS.0);
        }
        alone
    }

    /// Takes one message of the host.
    fn serve(&mut self) {
        let Some(host) = &self.host else {
            return;
        };
        let mut frame = [0; FRAME];
        match sys::receive(host.as_fd(), &mut frame) {
            Ok((FRAME, fds)) => {
                if let Ok(Frame::Start { cgroup }) = Frame::decode(frame)
                    && let Some(start) = Start::from_descriptors(fds, cgroup)
                {
                    self.start(start);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The supervisors see the end of their own sockets.
            _ => self.host = None,
        }
    }

    fn start(&mut self, start: Start) {
        match sys::fork(None) {
            Ok(Side::Child) => supervisor::run(start),
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

    /// Takes the zombies away. A supervisor that did not end by itself leaves orphans behind; and where one orphan ended there
    /// may be another that it started just before, which no look at a moment is sure to see.
    fn reap(&mut self) {
        // Not by nix, which has no names for real-time signals, and would not say whom one of them ended.
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((pid, status))) = rustix::process::wait(options) {
            if status.stopped() {
                // Only a command stops a supervisor, so that nobody can end it.
                if self.supervisors.contains(&pid.as_raw_pid()) {
                    _ = kill(Pid::from_raw(pid.as_raw_pid()), Signal::SIGCONT);
                }
                continue;
            }
            let supervised = self.supervisors.remove(&pid.as_raw_pid());
            if !(supervised && status.exit_status() == Some(0)) {
                self.orphans = Some(ROUND_MS.0);
            }
        }
    }

    fn end_orphans(&mut self) {
        let Some(pause) = self.orphans else {
            return;
        };
        let tree = Tree {
            root: self.pid,
            except: Some(&self.supervisors),
        };
        if tree.members().is_empty() {
            self.orphans = None;
        } else {
            tree.kill();
            self.orphans = Some((pause * 2).min(ROUND_MS.1));
            // What was killed is gone in a moment, and then nothing else is to be waited for.
            self.reap();
        }
    }
}

impl Start {
    fn from_descriptors(fds: Vec<OwnedFd>, cgroup: bool) -> Option<Self> {
        let mut fds = fds.into_iter();
        Some(Self {
            request: fds.next()?,
            control: fds.next()?,
            output: fds.next()?,
            stdin: fds.next()?,
            cgroup: if cgroup { Some(fds.next()?) } else { None },
        })
    }
}

/// Makes the ends of children readable. SIGCHLD must be blocked.
fn children_events() -> io::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    Ok(SignalFd::with_flags(
        &mask,
        SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
    )?)
}

/// Waits for a message, the end of a child, or the timeout. Returns whether there is something to read on the socket.
fn wait_for(socket: Option<&OwnedFd>, children: &SignalFd, timeout: PollTimeout) -> bool {
    let mut polled = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
    polled.extend(socket.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)));
    _ = poll(&mut polled, timeout);
    let readable = polled.get(1).and_then(PollFd::any).unwrap_or(false);
    while let Ok(Some(_)) = children.read_signal() {}
    readable
}
