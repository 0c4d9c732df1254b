//! The supervisor of one command: starts its shell, tells the host what becomes of it, and ends all of it when asked to.
//!
//! It is a subreaper in a session of its own, so that whatever the command starts stays below it, and it takes no signal
//! that can be blocked. It learns of the host's end by the end of its socket, and ends the command then.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::PollTimeout;
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::{ROUND_MS, Start, children_events, shell, wait_for};
use crate::process::contain::cgroup;
use crate::process::contain::sys;
use crate::process::contain::tree::{Tree, children};
use crate::process::contain::wire::{FRAME, Frame, Frames};

/// What a command gets to end in order when its host is gone.
const GRACE_WITHOUT_HOST: Duration = Duration::from_secs(1);

struct Supervisor {
    pid: i32,
    shell: Pid,
    /// `None` once the host is gone.
    host: Option<OwnedFd>,
    frames: Frames,
    events: SignalFd,
    cgroup: Option<OwnedFd>,
    /// How the shell ended, as the host was told.
    exited: Option<Frame>,
    ending: Ending,
}

/// How many messages of the host are taken together.
const MOST_AT_ONCE: usize = 256;

/// Looks at what ended, without waiting.
const ENDED: WaitPidFlag = WaitPidFlag::WEXITED.union(WaitPidFlag::WNOHANG);

/// How far the end of a command has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Nobody asked for it.
    No,
    /// It was asked to end, and is killed at this moment.
    At(Instant),
    /// It is being killed; the next round is after this many milliseconds.
    Killing(u16),
}

/// Is the supervisor of one command until nothing of it is left.
pub(super) fn run(start: Start) -> ! {
    let keep: Vec<_> = [&start.request, &start.control, &start.output, &start.stdin]
        .into_iter()
        .chain(&start.cgroup)
        .map(AsRawFd::as_raw_fd)
        .collect();
    if sys::close_all_but(&keep).is_err() {
        sys::exit(1);
    }
    match Supervisor::begin(start) {
        Ok(mut supervisor) => supervisor.work(),
        // The host knows.
        Err(()) => sys::exit(0),
    }
    sys::exit(0)
}

impl Supervisor {
    fn begin(start: Start) -> Result<Self, ()> {
        let Start {
            request,
            control,
            output,
            stdin,
            cgroup,
        } = start;
        let begun = (|| {
            _ = nix::unistd::setsid();
            nix::sys::prctl::set_child_subreaper(true)?;
            let events = children_events()?;
            let shell = shell::start(request, &output, &stdin, cgroup.as_ref())?;
            Ok::<_, io::Error>((events, shell))
        })();
        let (events, shell) = begun.map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(nix::libc::EIO);
            _ = sys::send(control.as_fd(), &Frame::Failed { errno }.encode(), &[]);
        })?;
        // From here on only the command has them: the end of its output must not wait for this process.
        drop((output, stdin));
        let mut supervisor = Self {
            pid: std::process::id().cast_signed(),
            shell,
            host: Some(control),
            frames: Frames::default(),
            events,
            cgroup,
            exited: None,
            ending: Ending::No,
        };
        supervisor.tell(Frame::Started {
            supervisor: supervisor.pid,
            shell: shell.as_raw(),
        });
        Ok(supervisor)
    }

    fn work(&mut self) {
        while !self.look() {
            let timeout = match self.ending {
                Ending::No => PollTimeout::NONE,
                Ending::At(moment) => {
                    let left = moment.saturating_duration_since(Instant::now());
                    PollTimeout::try_from(left + Duration::from_millis(1))
                        .unwrap_or(PollTimeout::MAX)
                }
                Ending::Killing(pause) => PollTimeout::from(pause),
            };
            if wait_for(self.host.as_ref(), &self.events, timeout) {
                self.listen();
            }
            match self.ending {
                Ending::At(moment) if Instant::now() >= moment => self.kill(ROUND_MS.0),
                Ending::Killing(pause) => self.kill((pause * 2).min(ROUND_MS.1)),
                _ => {}
            }
        }
    }

    /// Tells the host what became of the shell, reaps orphans, and returns whether nothing is left.
    fn look(&mut self) -> bool {
        let mut frames = Vec::new();
        if self.exited.is_none() {
            self.exited = self.exit_of_shell();
            frames.extend(self.exited.into_iter().flat_map(Frame::encode));
        }
        let alone = self.reap_orphans() == 0 && self.exited.is_some();
        let gone = alone && self.reap_shell();
        if alone && !gone {
            // There are children that this process cannot see, as it may open nothing any more. The spawner kills them.
            sys::exit(1);
        }
        if gone {
            frames.extend(Frame::Gone.encode());
        }
        if !frames.is_empty()
            && let Some(host) = &self.host
        {
            _ = sys::send(host.as_fd(), &frames, &[]);
        }
        gone
    }

    /// Returns how the shell ended, if it did. It stays a zombie.
    fn exit_of_shell(&self) -> Option<Frame> {
        match waitid(Id::Pid(self.shell), ENDED | WaitPidFlag::WNOWAIT) {
            Ok(WaitStatus::Exited(_, code)) => Some(Frame::Exited { code }),
            Ok(WaitStatus::Signaled(_, signal, _)) => Some(Frame::Signalled {
                signal: signal as i32,
            }),
            // A real-time signal, for which nix has no name. That the shell has ended is what counts.
            Err(Errno::EINVAL) => Some(Frame::Signalled { signal: 0 }),
            _ => None,
        }
    }

    /// Takes the zombies of orphans away, and returns how many orphans live.
    fn reap_orphans(&self) -> usize {
        loop {
            let orphans = children(self.pid).into_iter().map(Pid::from_raw);
            let (mut lives, mut reaped) = (0, 0);
            for orphan in orphans.filter(|pid| *pid != self.shell) {
                match waitid(Id::Pid(orphan), ENDED) {
                    Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::EINVAL) => {
                        reaped += 1
                    }
                    _ => lives += 1,
                }
            }
            // One that ended just now may have left children, which are ours from then on.
            if reaped == 0 {
                return lives;
            }
        }
    }

    /// Takes the zombie of the shell away, and returns whether there was nothing else: only the kernel knows for sure.
    ///
    /// Until then the number of the shell, which is that of its session and group, names nothing else.
    fn reap_shell(&self) -> bool {
        _ = waitid(Id::Pid(self.shell), ENDED);
        waitid(Id::All, ENDED | WaitPidFlag::WNOWAIT) == Err(Errno::ECHILD)
    }

    /// Takes what the host has to say.
    fn listen(&mut self) {
        let Some(host) = &self.host else {
            return;
        };
        let mut buffer = [0; MOST_AT_ONCE * FRAME];
        match sys::receive(host.as_fd(), &mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok((count @ 1.., _)) => {
                self.frames.push(buffer.get(..count).unwrap_or_default());
                let mut frames = Vec::new();
                while let Ok(Some(frame)) = self.frames.next() {
                    // As in the kernel, a signal that is still pending is not sent twice.
                    if !frames.contains(&frame) {
                        frames.push(frame);
                    }
                }
                for frame in frames {
                    self.obey(frame);
                }
            }
            // The host is gone, so nobody would ever ask for the end of this.
            _ => {
                self.host = None;
                if self.ending == Ending::No {
                    self.signal(Signal::SIGTERM);
                    self.ending = Ending::At(Instant::now() + GRACE_WITHOUT_HOST);
                }
            }
        }
    }

    fn obey(&mut self, frame: Frame) {
        match frame {
            Frame::Signal { signal } => {
                if let Ok(signal) = Signal::try_from(signal) {
                    self.signal(signal);
                }
            }
            Frame::Kill if !matches!(self.ending, Ending::Killing(_)) => self.kill(ROUND_MS.0),
            _ => {}
        }
    }

    fn signal(&self, signal: Signal) {
        let tree = Tree::below(self.pid);
        tree.signal(signal);
        if signal == Signal::SIGTERM {
            // A stopped process would not see the signal before somebody lets it go on.
            tree.signal(Signal::SIGCONT);
        }
    }

    /// One round of a kill. The next is after this many milliseconds, unless nothing is left by then.
    fn kill(&mut self, next: u16) {
        self.ending = Ending::Killing(next);
        if let Some(cgroup) = &self.cgroup {
            _ = cgroup::kill(cgroup.as_fd());
        }
        Tree::below(self.pid).kill();
        if self.exited.is_none() {
            // It takes no look into `/proc`, which a command can take from this process with its descriptors. The number of a
            // child that was not reaped is its own.
            _ = nix::sys::signal::kill(self.shell, Signal::SIGKILL);
        }
    }

    fn tell(&mut self, frame: Frame) {
        if let Some(host) = &self.host {
            _ = sys::send(host.as_fd(), &frame.encode(), &[]);
        }
    }
}
