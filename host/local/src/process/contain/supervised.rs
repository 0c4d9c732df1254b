//! The host's end of one supervisor.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::socket::{MsgFlags, send};
use parking_lot::Mutex;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::cgroup::Leaf;
use super::tree::{self, Tree};
use super::wire::{FRAME, Frame, Frames};
use super::{Event, Exit};

/// Why nobody knows what became of a command.
const SUPERVISOR_KILLED: &str = "its supervisor was killed, perhaps by the command itself, and everything that it had started with it";
const NEVER_STARTED: &str = "its shell did not start, after a long wait";
const SPAWNER_KILLED: &str = "the spawner, which everything depends on, was killed, and everything that it had started with it";

/// A command below its supervisor.
#[derive(Debug)]
pub(in crate::process) struct Supervised {
    /// Closed, and `None`, when nothing is left or nobody can tell: an ended process holds no descriptor.
    socket: Mutex<Option<Arc<UnixStream>>>,
    /// Whose child the supervisor is.
    spawner: i32,
    /// 0 until it has said so, which takes long where a file system hangs.
    supervisor: AtomicI32,
    shell: AtomicI32,
    leaf: Mutex<Option<Leaf>>,
    out_of_memory: AtomicBool,
    /// Whether the supervisor answered that it kills what it looks after.
    killing: AtomicBool,
}

/// Reads what the supervisor has to say.
#[derive(Debug)]
pub(in crate::process) struct Watch {
    socket: Arc<UnixStream>,
    frames: Frames,
    spawner_ended: CancellationToken,
    gone: bool,
}

impl Supervised {
    pub(super) fn new(socket: Arc<UnixStream>, spawner: i32, leaf: Option<Leaf>) -> Self {
        Self {
            socket: Mutex::new(Some(socket)),
            spawner,
            supervisor: AtomicI32::new(0),
            shell: AtomicI32::new(0),
            leaf: Mutex::new(leaf),
            out_of_memory: AtomicBool::new(false),
            killing: AtomicBool::new(false),
        }
    }

    /// Takes what the supervisor says once its shell runs.
    pub(super) fn started(&self, supervisor: i32, shell: i32) {
        self.supervisor.store(supervisor, Ordering::Relaxed);
        self.shell.store(shell, Ordering::Relaxed);
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let frame = match signal {
            Signal::SIGKILL => Frame::Kill,
            _ => Frame::Signal {
                signal: signal as i32,
            },
        };
        let socket = self.socket();
        let Some(socket) = socket else {
            return Ok(());
        };
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        match send(socket.as_raw_fd(), &frame.encode(), flags) {
            // It ended by itself meanwhile.
            Ok(_) | Err(Errno::EPIPE | Errno::ECONNRESET | Errno::ENOTCONN) => Ok(()),
            Err(Errno::EAGAIN) => {
                // Its socket is full of signals that it does not take: somebody stopped it.
                self.kill_stalled_supervisor(false);
                Err(io::Error::other("the supervisor does not answer"))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.socket().is_none()
    }

    /// Kills the supervisor if somebody stopped it, or if it is `overdue`: if it has not even answered that it kills what it
    /// looks after. The spawner then kills what it left; first that is done from here, in case the spawner was not spared.
    ///
    /// A command of the same user has more ways than one to keep its supervisor from its work: to freeze it, for example.
    pub(super) fn kill_stalled_supervisor(&self, overdue: bool) {
        let pid = self.supervisor.load(Ordering::Relaxed);
        let Some(status) = tree::status(pid).filter(|_| pid > 0) else {
            return;
        };
        let overdue = overdue && !self.killing.load(Ordering::Relaxed);
        if !(status.stopped || overdue) || self.is_gone() {
            return;
        }
        if let Some(pid) = Pid::from_raw(pid)
            && let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty())
            // The descriptor names the process for good. Is it the supervisor?
            && tree::status(pid.as_raw_pid()).is_some_and(|now| now.parent == self.spawner)
        {
            if overdue {
                let leaf = self.leaf.lock();
                _ = leaf.as_ref().map(Leaf::kill);
                Tree::below(pid.as_raw_pid()).kill();
            }
            _ = pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
        }
    }

    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.out_of_memory.load(Ordering::Relaxed)
    }

    /// Returns what lives below the supervisor besides the shell, at most so many.
    pub(super) fn members(&self, most: usize) -> Vec<i32> {
        let supervisor = self.supervisor.load(Ordering::Relaxed);
        if self.is_gone() || supervisor == 0 {
            return Vec::new();
        }
        let shell = self.shell.load(Ordering::Relaxed);
        let mut members = Tree::below(supervisor).some_members(most.saturating_add(1));
        members.retain(|pid| *pid != shell);
        members.truncate(most);
        members
    }

    fn socket(&self) -> Option<Arc<UnixStream>> {
        self.socket.lock().clone()
    }

    /// Nothing is left, or nobody can tell: frees what is held for a command that lives.
    fn end(&self, leaf_may_be_full: bool) {
        self.note_memory();
        let mut leaf = self.leaf.lock();
        if let Some(leaf) = leaf.take()
            && leaf_may_be_full
        {
            _ = leaf.kill();
        }
        drop(leaf);
        self.socket.lock().take();
    }

    fn note_memory(&self) {
        let leaf = self.leaf.lock();
        if let Some(leaf) = leaf.as_ref() {
            self.out_of_memory
                .fetch_or(leaf.ran_out_of_memory(), Ordering::Relaxed);
        }
    }
}

impl Watch {
    pub(super) fn new(socket: Arc<UnixStream>, spawner_ended: CancellationToken) -> Self {
        Self {
            socket,
            frames: Frames::default(),
            spawner_ended,
            gone: false,
        }
    }

    pub(super) async fn next(&mut self, supervised: &Supervised) -> Event {
        if self.gone {
            return std::future::pending().await;
        }
        loop {
            match self.frames.next() {
                Ok(Some(Frame::Exited { code })) => {
                    supervised.note_memory();
                    return Event::Exited(Exit::Code(code));
                }
                Ok(Some(Frame::Signalled { signal })) => {
                    supervised.note_memory();
                    return Event::Exited(Exit::Signal(signal));
                }
                Ok(Some(Frame::Started { supervisor, shell })) => {
                    supervised.started(supervisor, shell);
                }
                Ok(Some(Frame::Failed { .. })) => return self.lose(supervised, NEVER_STARTED),
                Ok(Some(Frame::Killing)) => supervised.killing.store(true, Ordering::Relaxed),
                Ok(Some(Frame::Gone)) => {
                    self.gone = true;
                    supervised.end(false);
                    return Event::Gone;
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    let lost = tokio::select! {
                        biased;
                        more = read(&self.socket, &mut self.frames) => (!more).then_some(SUPERVISOR_KILLED),
                        () = self.spawner_ended.cancelled() => {
                            _ = supervised.signal(Signal::SIGKILL);
                            // Nobody is there any more who would end what a dead supervisor leaves, so it must live.
                            resume(supervised.supervisor.load(Ordering::Relaxed));
                            Some(SPAWNER_KILLED)
                        }
                    };
                    if let Some(lost) = lost {
                        return self.lose(supervised, lost);
                    }
                }
                Err(_) => return self.lose(supervised, SUPERVISOR_KILLED),
            }
        }
    }

    fn lose(&mut self, supervised: &Supervised, why: &'static str) -> Event {
        self.gone = true;
        if !self.spawner_ended.is_cancelled() {
            // It kills what a dead supervisor left, unless somebody stopped it first.
            resume(supervised.spawner);
        }
        supervised.end(true);
        Event::Lost(why)
    }
}

/// Lets a process go on that somebody stopped, or is about to: the signal takes back one that is still on its way. Its number
/// must not have been handed out again.
pub(super) fn resume(pid: i32) {
    // Other numbers stand for more than one process.
    if pid > 1 {
        _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGCONT);
    }
}

/// Reads what there is. Returns false at the end.
async fn read(socket: &UnixStream, frames: &mut Frames) -> bool {
    let mut buffer = [0; 8 * FRAME];
    loop {
        if socket.readable().await.is_err() {
            return false;
        }
        match socket.try_read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => {
                frames.push(buffer.get(..count).unwrap_or_default());
                return true;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
}
