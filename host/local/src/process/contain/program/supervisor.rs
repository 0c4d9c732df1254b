//! The supervisor of one command: starts its shell, tells the host how it ended, and ends the whole command when asked to.
//!
//! It is a subreaper in a session of its own, so that all processes of the command stay below it, and it blocks every signal
//! that can be blocked. When its socket closes, the host has ended, and the supervisor ends the command, unless the command is kept: then
//! the supervisor waits for the next host.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::epoll::EpollTimeout;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, WaitIdStatus, waitid};

use super::command_limits::CommandLimits;
use super::events::Events;
use super::holding::{Holding, Met};
use super::start::Start;
use super::{shell, until};
use crate::process::contain::cgroup::Killer;
use crate::process::contain::kept::Line;
use crate::process::contain::own_children::OwnChildren;
use crate::process::contain::sys;
use crate::process::contain::tree::{ROUND_MS, Tree};
use crate::process::contain::wire::{FRAME, Frame, Frames};
use toolhost_sandbox::Inherited;
use toolhost_state::own_limits::OwnLimits;

/// The time between SIGTERM and SIGKILL when the host is gone.
const GRACE_WITHOUT_HOST: Duration = Duration::from_secs(1);

struct Supervisor {
    own: OwnChildren,
    shell: Pid,
    /// The frames that say that the shell runs, until they are sent.
    started: Vec<Frame>,
    /// The write end of the output, until that is sent: the host is not woken before by the end of the output of a short command.
    output: Option<OwnedFd>,
    /// The CPU time of the earlier commands of this process, in microseconds.
    earlier: u64,
    /// `None` once the host is gone.
    host: Option<OwnedFd>,
    frames: Frames,
    events: Events,
    inherited: Option<Inherited>,
    limits: OwnLimits,
    cgroup: Option<Killer>,
    /// The frame that told the host how the shell ended.
    exited: Option<Frame>,
    ending: Ending,
    /// The parts that keep the command when the host is gone; `None` if it ends then.
    holding: Option<Holding>,
}

/// How long the host is not told that the shell runs, in milliseconds. A command that ends sooner is told of in one message.
const SOON_MS: u16 = 2;

/// The most messages of the host that are taken together.
const MOST_AT_ONCE: usize = 256;

/// Looks for children that ended, without waiting.
const ENDED: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG);

/// How far the end of a command has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The end was not asked for.
    No,
    /// SIGTERM was sent; SIGKILL follows at this time.
    At(Instant),
    /// The command is being killed; the next round is after this many milliseconds.
    Killing(u16),
}

/// The parts of a supervisor that are made before it has a command.
pub(super) struct Prepared {
    own: OwnChildren,
    events: Events,
    /// The filter of system calls that this process has for its commands; `None`: they can have different ones.
    inherited: Option<Inherited>,
    /// The limits of this process, which a command without a sandbox can lower.
    limits: OwnLimits,
}

impl Prepared {
    /// Makes this process a supervisor without a command, which has these limits. `is_of_chat`: its commands will all have the same sandbox.
    pub(super) fn new(is_of_chat: bool, limits: &OwnLimits) -> io::Result<Self> {
        _ = nix::unistd::setsid();
        nix::sys::prctl::set_child_subreaper(true)?;
        Ok(Self {
            own: OwnChildren::open(),
            events: Events::new()?,
            inherited: is_of_chat.then(Inherited::default),
            limits: limits.clone(),
        })
    }
}

/// Supervises one command, which begins with these limits, until no process of it is left. The host is told if this process was not
/// prepared. Returns only if this process can have another command.
pub(super) fn run(prepared: io::Result<Prepared>, start: Start, limits: CommandLimits) -> Prepared {
    match Supervisor::begin(prepared, start, limits) {
        Ok(mut supervisor) => {
            supervisor.work();
            supervisor.finish()
        }
        // The host was told.
        Err(()) => sys::exit(0),
    }
}

impl Supervisor {
    fn begin(
        prepared: io::Result<Prepared>,
        start: Start,
        of_command: CommandLimits,
    ) -> Result<Self, ()> {
        let Start {
            control,
            request,
            output,
            stdin,
            cgroup,
            ruleset,
            kept,
        } = start;
        let begun = (|| {
            _ = nix::sys::prctl::set_name(c"toolhost-super");
            let Prepared {
                own,
                events,
                mut inherited,
                limits: own_limits,
            } = prepared?;
            events.listen_to(&control)?;
            let killer = cgroup.as_ref().map(|cgroup| Killer::open(cgroup.as_fd()));
            let killer = match killer.transpose() {
                // The cgroup was removed. The shell starts without it as well.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                killer => killer?,
            };
            // If the host gave up waiting, it has told its caller that the command did not start.
            if sys::is_closed(control.as_fd()) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let limits = kept.is_some().then(OwnLimits::read);
            let earlier = waited();
            // Once the shell has started, nothing may fail: the caller would hear that the command did not start.
            let streams = [&output, &stdin];
            let shell = shell::start(
                request,
                ruleset,
                streams,
                cgroup.as_ref(),
                of_command,
                inherited.as_mut(),
            )?;
            let prepared = Prepared {
                own,
                events,
                inherited,
                limits: own_limits,
            };
            Ok::<_, io::Error>((prepared, killer, shell, limits, earlier))
        })();
        let (prepared, killer, shell, limits, earlier) = begun.map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(nix::libc::EIO);
            _ = sys::send(control.as_fd(), &Frame::Failed { errno }.encode(), &[]);
        })?;
        let Prepared {
            own,
            events,
            inherited,
            limits: own_limits,
        } = prepared;
        drop(stdin);
        let shell::Started {
            pid: shell,
            terms,
            terminal,
        } = shell;
        let started = started(&own, shell, earlier);
        let (mut output, mut holding) = (Some(output), None);
        if let (Some(terms), Some(limits), Some(kept)) = (terms, limits, kept) {
            // The output of a terminal is moved into the pipe here while no host is there.
            let line = terminal.and_then(|terminal| {
                let writer = output.take()?;
                Some(Line { terminal, writer })
            });
            holding = Some(Holding::new(terms, kept, line, cgroup, limits));
        }
        Ok(Self {
            own,
            shell,
            started,
            earlier,
            output,
            host: Some(control),
            frames: Frames::default(),
            events,
            inherited,
            limits: own_limits,
            cgroup: killer,
            exited: None,
            ending: Ending::No,
            holding,
        })
    }

    fn work(&mut self) {
        if self.events.wait(EpollTimeout::from(SOON_MS)) {
            self.listen();
        }
        while !self.look() {
            let held = self.holding.as_ref().and_then(Holding::next);
            let timeout = match (self.ending, held) {
                (Ending::No, None) => EpollTimeout::NONE,
                (Ending::No, Some(moment)) => until(moment),
                (Ending::At(moment), held) => until(held.map_or(moment, |held| held.min(moment))),
                (Ending::Killing(pause), _) => EpollTimeout::from(pause),
            };
            if self.events.wait(timeout) || held.is_some() {
                self.listen();
            }
            if self.ending == Ending::No && self.holding.as_ref().is_some_and(Holding::is_over) {
                self.end_without_host();
            }
            match self.ending {
                Ending::At(moment) if Instant::now() >= moment => self.kill(ROUND_MS.0),
                Ending::Killing(pause) => self.kill((pause * 2).min(ROUND_MS.1)),
                _ => {}
            }
        }
    }

    /// Tells the host that the shell runs and how it ended, reaps orphans, and returns whether nothing is left.
    fn look(&mut self) -> bool {
        let mut frames = Vec::new();
        if self.exited.is_none() {
            self.exited = self.exit_of_shell();
            frames.extend(self.exited);
        }
        let alone = self.reap_orphans() == 0 && self.exited.is_some();
        let gone = alone && self.reap_shell();
        if gone {
            frames.extend((!self.can_have_another()).then_some(Frame::Last));
            frames.push(Frame::Gone);
        }
        if let Some(holding) = &mut self.holding {
            holding.note_end(&frames);
        }
        self.tell(&frames);
        if alone && !gone {
            // Children that the list does not name are left, which should be impossible. The spawner kills them.
            sys::exit(1);
        }
        gone
    }

    /// Returns whether this process can have another command. That of a kept one ends, and so does one that cannot restore its limits.
    fn can_have_another(&self) -> bool {
        let restore = || self.limits.restore().is_empty();
        self.holding.is_none() && (restore() || restore())
    }

    /// Returns how the shell ended, if it did. It stays a zombie.
    fn exit_of_shell(&self) -> Option<Frame> {
        let status = ended(self.shell.as_raw(), WaitIdOptions::NOWAIT)?;
        Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Frame::Exited { code },
            (None, signal) => Frame::Signalled {
                signal: signal.unwrap_or(0),
            },
        })
    }

    /// Reaps the orphans that ended, and returns how many orphans live.
    fn reap_orphans(&self) -> usize {
        loop {
            let mut orphans = self.own.list();
            orphans.retain(|pid| *pid != self.shell.as_raw());
            let all = orphans.len();
            orphans.retain(|pid| ended(*pid, WaitIdOptions::empty()).is_none());
            // An orphan that ended just now may have left children, which are children of this process now.
            if orphans.len() == all {
                return all;
            }
        }
    }

    /// Reaps the shell, and returns whether no other child is left.
    ///
    /// Until it is reaped, its process id, which is the id of its session and group, names nothing else.
    fn reap_shell(&self) -> bool {
        _ = ended(self.shell.as_raw(), WaitIdOptions::empty());
        self.own.are_gone()
    }

    /// Takes the messages of the host.
    fn listen(&mut self) {
        let Some(host) = &self.host else {
            return self.meet();
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
            // The host is gone and will never ask for the end of the command.
            _ => {
                self.events.forget(host);
                self.host = None;
                match &mut self.holding {
                    Some(holding) => holding.begin(&self.events),
                    None => self.end_without_host(),
                }
            }
        }
    }

    fn end_without_host(&mut self) {
        if self.ending == Ending::No {
            self.signal(Signal::SIGTERM);
            self.ending = Ending::At(Instant::now() + GRACE_WITHOUT_HOST);
        }
    }

    /// Hands the command over to the next host if there is one.
    fn meet(&mut self) {
        let Some(holding) = &mut self.holding else {
            return;
        };
        match holding.look(&self.events) {
            Met::Nobody => {}
            Met::Stranger => self.end_without_host(),
            Met::Host(socket) => {
                // If that fails, this process never learns that the host is gone. The next look at the socket would tell.
                _ = self.events.listen_to(&socket);
                self.frames = Frames::default();
                self.host = Some(socket);
                self.started = started(&self.own, self.shell, self.earlier);
                let exited: Vec<_> = self.exited.into_iter().collect();
                self.tell(&exited);
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
            Frame::Kill => {
                self.tell(&[Frame::Killing]);
                if !matches!(self.ending, Ending::Killing(_)) {
                    self.kill(ROUND_MS.0);
                }
            }
            Frame::CloseInput => {
                if let Some(holding) = &mut self.holding {
                    holding.close_input();
                }
            }
            _ => {}
        }
    }

    /// Makes this process ready for another command. That of a kept one waits until the host has closed its end, and ends: the host may
    /// have ended before it had read all output.
    fn finish(self) -> Prepared {
        if let Some(mut holding) = self.holding {
            if let Some(host) = &self.host {
                while let Ok((1.., _)) = sys::receive_waiting(host.as_fd(), &mut [0; FRAME]) {}
            }
            holding.finish(&self.events);
            sys::exit(0);
        }
        if let Some(host) = &self.host {
            self.events.forget(host);
        }
        Prepared {
            own: self.own,
            events: self.events,
            inherited: self.inherited,
            limits: self.limits,
        }
    }

    /// Signals the whole tree of the command.
    fn signal(&self, signal: Signal) {
        Tree::below_own(&self.own).signal(signal);
    }

    /// One round of a kill. The next is after this many milliseconds, unless nothing is left by then.
    fn kill(&mut self, next: u16) {
        self.ending = Ending::Killing(next);
        if let Some(cgroup) = &self.cgroup {
            _ = cgroup.kill();
        }
        Tree::below_own(&self.own).kill();
    }

    /// Sends the host these frames, after the one that says that the shell runs.
    fn tell(&mut self, frames: &[Frame]) {
        self.output = None;
        let started = std::mem::take(&mut self.started).into_iter();
        let frames = started.chain(frames.iter().copied());
        let bytes: Vec<u8> = frames.flat_map(Frame::encode).collect();
        if !bytes.is_empty()
            && let Some(host) = &self.host
        {
            _ = sys::send(host.as_fd(), &bytes, &[]);
        }
    }
}

/// Returns the frames that say the CPU time of earlier commands, if there were some, and that the shell runs.
fn started(own: &OwnChildren, shell: Pid, earlier: u64) -> Vec<Frame> {
    let started = Frame::Started {
        supervisor: own.pid(),
        shell: shell.as_raw(),
    };
    let earlier = (earlier > 0).then_some(Frame::Waited { micros: earlier });
    earlier.into_iter().chain([started]).collect()
}

/// Returns the CPU time, in microseconds, of the children that this process has waited for.
fn waited() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
    let time = usage.map_or(0, |usage| {
        (usage.user_time() + usage.system_time()).num_microseconds()
    });
    u64::try_from(time).unwrap_or(0)
}

/// Returns how a child ended, if it did. It is reaped unless the options say otherwise.
fn ended(pid: i32, options: WaitIdOptions) -> Option<WaitIdStatus> {
    let status = waitid(
        WaitId::Pid(rustix::process::Pid::from_raw(pid)?),
        ENDED | options,
    );
    // Ignore a stop for a tracer.
    let is_end = |status: &WaitIdStatus| status.exited() || status.killed() || status.dumped();
    status.ok()?.filter(is_end)
}
