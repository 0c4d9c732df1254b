//! Holding on: a supervisor whose host is gone reads the output of its command itself, and waits for the next host.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::geteuid;
use rustix::process::{PidfdFlags, pidfd_open};

use super::events::Events;
use crate::process::contain::end::EndFile;
use crate::process::contain::kept::{Answer, Attached, Descriptors, Greeting, Line, Outlet, Spool};
use crate::process::contain::layer_namespaces::LayerNamespaces;
use crate::process::contain::sys;
use crate::process::contain::terms::Terms;
use crate::process::contain::wire::{Frame, VERSION};
use toolhost_state::own_limits::OwnLimits;

/// The most bytes that are moved at once.
const MOVED: usize = 1 << 20;

/// How often a disk that takes no output is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How many bytes beyond those that can be saved the spool may have where the file system cannot free a part of a file. Then the command
/// waits for a host.
const MOST_UNSAVED: u64 = 64 << 20;

/// How many bytes are moved after the end of a command: another process that was handed the pipe may write without end.
const LAST: u64 = 4 << 20;

/// The most programs that are connected and have not greeted. The oldest makes room.
const MOST_WAITING: usize = 16;

/// A supervisor's part of a kept command.
pub(super) struct Holding {
    terms: Terms,
    listener: UnixListener,
    spool: Spool,
    end: EndFile,
    outlet: Outlet,
    /// The write end of standard input, if that is a pipe which stays open.
    input: Option<OwnedFd>,
    /// The namespaces of the layers of its home.
    layers: Option<LayerNamespaces>,
    cgroup: Option<OwnedFd>,
    /// The limits of this process before its command could change them.
    limits: OwnLimits,
    /// Set while no host is there.
    held: Option<Held>,
    /// The sockets of hosts of another version, which see that this process ends.
    strangers: Vec<OwnedFd>,
}

struct Held {
    /// When the command is ended if no host has come.
    until: Instant,
    /// How many bytes were read from the pipe.
    read: u64,
    pipe: Pipe,
    /// The programs that have connected and not greeted yet.
    waiting: Vec<OwnedFd>,
}

/// The state of the pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pipe {
    /// Its bytes are an event.
    Watched,
    /// The disk refused bytes. They are tried again at this time.
    Refused(Instant),
    Ended,
}

/// The result of a look at the socket.
pub(super) enum Met {
    Nobody,
    /// A host has taken the command over. This is its control socket.
    Host(OwnedFd),
    /// A host of another version came, and waits for the end of the command.
    Stranger,
}

impl Holding {
    pub(super) fn new(
        terms: Terms,
        fds: Descriptors,
        terminal: Option<Line>,
        cgroup: Option<OwnedFd>,
        limits: OwnLimits,
    ) -> Self {
        Self {
            terms,
            listener: fds.listener.into(),
            spool: Spool::new(fds.spool),
            end: EndFile::new(fds.end),
            outlet: Outlet::new(fds.pipe, terminal),
            input: fds.input,
            layers: fds.layers,
            cgroup,
            limits,
            held: None,
            strangers: Vec::new(),
        }
    }

    /// Ends the standard input.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Writes how the command ended, so that a host finds it even if it was not told.
    pub(super) fn note_end(&mut self, frames: &[Frame]) {
        if !frames.is_empty() {
            self.end.add(frames);
        }
    }

    /// Begins to hold on, because the host is gone.
    pub(super) fn begin(&mut self, events: &Events) {
        _ = nix::sys::prctl::set_name(c"toolhost-kept");
        let listening = events.listen_to(&self.listener);
        let reading = events.listen_to(self.outlet.source());
        let pipe = match listening.and(reading) {
            Ok(()) => Pipe::Watched,
            Err(_) => Pipe::Refused(Instant::now()),
        };
        self.held = Some(Held {
            until: Instant::now() + self.terms.time(),
            read: self.spool.length().unwrap_or_default(),
            pipe,
            waiting: Vec::new(),
        });
    }

    /// Returns when to call [`Holding::look`] and [`Holding::is_over`] next; `None` if only an event is a reason.
    pub(super) fn next(&self) -> Option<Instant> {
        let held = self.held.as_ref()?;
        let until = Some(held.until).filter(|until| *until > Instant::now());
        let again = match held.pipe {
            Pipe::Refused(again) => Some(again),
            Pipe::Watched | Pipe::Ended => None,
        };
        until.into_iter().chain(again).min()
    }

    /// Returns whether no host has come for too long.
    pub(super) fn is_over(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.until <= Instant::now())
    }

    /// Reads output, and takes the messages of hosts.
    pub(super) fn look(&mut self, events: &Events) -> Met {
        let Some(held) = &mut self.held else {
            return Met::Nobody;
        };
        // A command of the same user can lower them, so that no host could connect.
        self.limits.restore();
        while let Ok((socket, _)) = self.listener.accept() {
            let socket = OwnedFd::from(socket);
            if !is_own(&socket) || events.listen_to(&socket).is_err() {
                continue;
            }
            if held.waiting.len() >= MOST_WAITING {
                let oldest = held.waiting.remove(0);
                events.forget(&oldest);
            }
            held.waiting.push(socket);
        }
        let key = self.terms.key;
        while let Some((place, greeting)) = next_greeting(&held.waiting) {
            let socket = held.waiting.remove(place);
            events.forget(&socket);
            match greeting.filter(|greeting| greeting.key == key) {
                None => {}
                Some(greeting) if greeting.version != VERSION => {
                    _ = sys::send(
                        socket.as_fd(),
                        &answer(Attached::Nothing, false).encode(),
                        &[],
                    );
                    self.strangers.push(socket);
                    return Met::Stranger;
                }
                Some(_) => {
                    if self.hand_over(events, &socket).is_ok() {
                        return Met::Host(socket);
                    }
                    return Met::Nobody;
                }
            }
        }
        self.read(events, MOVED as u64);
        Met::Nobody
    }

    /// Moves the rest of the output into the spool. To be called when nothing of the command is left and the host is gone.
    pub(super) fn finish(&mut self, events: &Events) {
        if self.held.is_none() {
            self.begin(events);
        }
        self.read(events, LAST);
    }

    /// Sends a host everything that it needs, and stops reading.
    fn hand_over(&mut self, events: &Events, socket: &OwnedFd) -> io::Result<()> {
        let spool = self.spool.descriptor()?;
        let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
        let mut fds = vec![self.outlet.pipe(), &spool, &own];
        let input = match (self.outlet.line(), &self.input) {
            (Some(Line { terminal, writer }), _) => {
                fds.extend([terminal, writer]);
                Attached::Terminal
            }
            (None, Some(input)) => {
                fds.push(input);
                Attached::Pipe
            }
            (None, None) => Attached::Nothing,
        };
        fds.extend(self.layers.iter().flat_map(LayerNamespaces::descriptors));
        fds.extend(&self.cgroup);
        let fds: Vec<_> = fds.into_iter().map(AsRawFd::as_raw_fd).collect();
        let answer = answer(input, self.layers.is_some());
        sys::send(socket.as_fd(), &answer.encode(), &fds)?;
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        events.forget(&self.listener);
        if held.pipe == Pipe::Watched {
            events.forget(self.outlet.source());
        }
        for other in &held.waiting {
            events.forget(other);
        }
        _ = nix::sys::prctl::set_name(c"toolhost-super");
        Ok(())
    }

    /// Moves at most this many bytes of output into the spool.
    fn read(&mut self, events: &Events, most: u64) {
        let Some(held) = &mut self.held else {
            return;
        };
        let now = Instant::now();
        if held.pipe == Pipe::Ended || matches!(held.pipe, Pipe::Refused(again) if again > now) {
            return;
        }
        let first = held.read;
        let next = loop {
            if held.read - first >= most {
                break Pipe::Watched;
            }
            // The bytes that can be saved stay. Of the others, the end is enough.
            let freed = match held.read > self.terms.saved {
                true => self.spool.free_after(self.terms.saved, held.read),
                false => Ok(()),
            };
            if freed.is_err() && held.read > self.terms.saved.saturating_add(MOST_UNSAVED) {
                break Pipe::Refused(now + RETRY);
            }
            match self.spool.fill(&self.outlet, held.read, MOVED) {
                Ok(0) => break Pipe::Ended,
                Ok(count) => held.read += count as u64,
                Err(Errno::EAGAIN) => break Pipe::Watched,
                Err(_) => break Pipe::Refused(now + RETRY),
            }
        };
        // A pipe that is not read is no event: otherwise, this process would never wait.
        let (was, is) = (held.pipe == Pipe::Watched, next == Pipe::Watched);
        held.pipe = next;
        if was && !is {
            events.forget(self.outlet.source());
        } else if is && !was && events.listen_to(self.outlet.source()).is_err() {
            held.pipe = Pipe::Refused(now + RETRY);
        }
    }
}

/// Returns an answer of this version.
fn answer(input: Attached, layered: bool) -> Answer {
    Answer {
        version: VERSION,
        input,
        layered,
    }
}

/// Returns whether a program of this user is at the other end of a socket.
fn is_own(socket: &OwnedFd) -> bool {
    let peer = getsockopt(socket, sockopt::PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Returns the place of a program that has greeted, with its greeting, or of one that has gone or sent something else.
fn next_greeting(waiting: &[OwnedFd]) -> Option<(usize, Option<Greeting>)> {
    waiting.iter().enumerate().find_map(|(place, socket)| {
        let mut bytes = [0; Greeting::SIZE];
        match sys::receive(socket.as_fd(), &mut bytes) {
            Ok((Greeting::SIZE, _)) => Some((place, Greeting::decode(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            _ => Some((place, None)),
        }
    })
}
