//! The host's end of one supervisor.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::socket::{MsgFlags, send};
use parking_lot::Mutex;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::cgroup::Leaf;
use super::proc;
use super::spares::Lent;
use super::tree::Tree;
use super::values::{Event, Exit};
use super::wire::{FRAME, Frame, Frames};

/// The texts that say why the end of a command is unknown.
const SUPERVISOR_KILLED: &str = "its supervisor was killed, perhaps by the command itself, and everything that it had started with it";
const NEVER_STARTED: &str = "its shell did not start, after a long wait";
const SPAWNER_KILLED: &str = "the spawner, which everything depends on, was killed, and everything that it had started with it";

/// A command below its supervisor.
#[derive(Debug)]
pub(in crate::process) struct Supervised {
    /// Closed, and `None`, when no process is left or that cannot be known any more: an ended process holds no descriptor.
    socket: Mutex<Option<Arc<UnixStream>>>,
    /// The process id of the spawner, the parent of the supervisor.
    spawner: i32,
    /// Whether the spawner is that of a chat, so that the numbers of the supervisor and the shell are those in its namespace.
    is_of_chat: bool,
    /// 0 until the supervisor has reported its process id, which takes long if a file system hangs.
    supervisor: AtomicI32,
    shell: AtomicI32,
    leaf: Mutex<Option<Leaf>>,
    /// The supervisor, until it can have another command, or has to end.
    lent: Mutex<Option<Lent>>,
    /// The CPU time of the earlier commands of the supervisor, in microseconds.
    earlier_cpu: AtomicU64,
    out_of_memory: AtomicBool,
    /// Whether the supervisor answered that it is killing the processes below it.
    killing: AtomicBool,
}

/// The reader of the frames that the supervisor sends.
#[derive(Debug)]
pub(in crate::process) struct Watch {
    socket: Arc<UnixStream>,
    frames: Frames,
    spawner_ended: CancellationToken,
    gone: bool,
}

impl Supervised {
    pub(super) fn new(
        socket: Arc<UnixStream>,
        spawner: i32,
        is_of_chat: bool,
        leaf: Option<Leaf>,
        lent: Option<Lent>,
    ) -> Self {
        Self {
            socket: Mutex::new(Some(socket)),
            spawner,
            is_of_chat,
            supervisor: AtomicI32::new(0),
            shell: AtomicI32::new(0),
            leaf: Mutex::new(leaf),
            lent: Mutex::new(lent),
            earlier_cpu: AtomicU64::new(0),
            out_of_memory: AtomicBool::new(false),
            killing: AtomicBool::new(false),
        }
    }

    /// Stores the process ids that the supervisor reports once its shell runs.
    pub(super) fn started(&self, supervisor: i32, shell: i32) {
        self.supervisor.store(supervisor, Ordering::Relaxed);
        self.shell.store(shell, Ordering::Relaxed);
    }

    /// Stores the CPU time of the earlier commands of the supervisor, in microseconds.
    fn waited(&self, micros: u64) {
        self.earlier_cpu.store(micros, Ordering::Relaxed);
    }

    /// Has the supervisor signal the whole tree of the command.
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
            // The command ended by itself meanwhile.
            Ok(_) | Err(Errno::EPIPE | Errno::ECONNRESET | Errno::ENOTCONN) => Ok(()),
            Err(Errno::EAGAIN) => {
                // The socket is full of signals that the supervisor does not read: another process stopped the supervisor.
                self.kill_stalled_supervisor(false);
                Err(io::Error::other("the supervisor does not answer"))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Has the supervisor of a kept command close its copy of the write end of standard input.
    pub(super) fn close_input(&self) {
        if let Some(socket) = self.socket() {
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            _ = send(socket.as_raw_fd(), &Frame::CloseInput.encode(), flags);
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.socket().is_none()
    }

    /// Kills the supervisor if another process stopped it, or if it is `overdue`: it has not even answered that it is killing the
    /// processes below it. The spawner then kills the processes that are left. If `overdue`, the host kills them first, in case
    /// the spawner cannot do so.
    ///
    /// A command of the same user has several ways to keep its supervisor from working: it can freeze it, for example.
    pub(super) fn kill_stalled_supervisor(&self, overdue: bool) {
        let Some((pid, status)) = self
            .supervisor()
            .and_then(|pid| Some((pid, proc::status(pid)?)))
        else {
            return;
        };
        let overdue = overdue && !self.killing.load(Ordering::Relaxed);
        if !(status.stopped || overdue) {
            return;
        }
        // From here on it gets no other command, which would be killed with it.
        let _ended = self.lent.lock().take();
        if self.is_gone() {
            return;
        }
        if let Some(pid) = Pid::from_raw(pid)
            && let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty())
            // The descriptor names one process for good. Check that this process is the supervisor.
            && proc::status(pid.as_raw_pid()).is_some_and(|now| now.parent == self.spawner)
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

    /// Returns the processes below the supervisor except the shell, at most `most`; `None` if the supervisor is not known.
    pub(super) fn members(&self, most: usize) -> Option<Vec<i32>> {
        if self.is_gone() {
            return Some(Vec::new());
        }
        let supervisor = self.supervisor()?;
        let shell = self.outside(supervisor, self.shell.load(Ordering::Relaxed));
        let mut members = Tree::below(supervisor).some_members(most.saturating_add(1));
        members.retain(|pid| Some(*pid) != shell);
        members.truncate(most);
        Some(members)
    }

    /// Returns the processes below the supervisor, at most `most`; none if the supervisor is not known.
    pub(super) fn processes(&self, most: usize) -> Vec<i32> {
        if self.is_gone() {
            return Vec::new();
        }
        let supervisor = self.supervisor();
        supervisor.map_or_else(Vec::new, |pid| Tree::below(pid).some_members(most))
    }

    /// Returns the process id of the spawner, if it is that of a chat.
    pub(super) fn spawner_of_chat(&self) -> Option<i32> {
        self.is_of_chat.then_some(self.spawner)
    }

    /// Looks at the cgroup of the command, if it has one.
    pub(super) fn with_leaf<T>(&self, look: impl FnOnce(&Leaf) -> T) -> Option<T> {
        self.leaf.lock().as_ref().map(look)
    }

    /// Returns the CPU time that the supervisor has waited for before this command.
    pub(super) fn earlier_cpu(&self) -> Duration {
        Duration::from_micros(self.earlier_cpu.load(Ordering::Relaxed))
    }

    /// Returns the process id of the supervisor, unless it is not known yet, or may have another command by now.
    pub(super) fn supervisor(&self) -> Option<i32> {
        if self.is_gone() {
            return None;
        }
        self.outside(self.spawner, self.supervisor.load(Ordering::Relaxed))
    }

    /// Returns the number that a child of this process has for the host.
    fn outside(&self, parent: i32, child: i32) -> Option<i32> {
        match child {
            ..=0 => None,
            child if !self.is_of_chat => Some(child),
            child => proc::child_within(parent, child),
        }
    }

    /// Leaves a kept command to the next host.
    pub(super) fn leave(&self) {
        if let Some(leaf) = self.leaf.lock().take() {
            leaf.leave();
        }
        self.socket.lock().take();
    }

    fn socket(&self) -> Option<Arc<UnixStream>> {
        self.socket.lock().clone()
    }

    /// Frees the resources of a live command. Call it when no process is left, or when that cannot be known any more.
    fn end(&self, leaf_may_be_full: bool) {
        self.note_memory();
        let mut leaf = self.leaf.lock();
        if let Some(leaf) = leaf.take()
            && leaf_may_be_full
        {
            _ = leaf.kill();
        }
        drop(leaf);
        let mut socket = self.socket.lock();
        socket.take();
        // A kill of the supervisor takes it first, and then looks whether the command has ended.
        if let Some(lent) = self.lent.lock().take().filter(|_| !leaf_may_be_full) {
            lent.give_back();
        }
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

    /// Waits for the first answer of the supervisor. The end of its socket is none: [`Watch::next`] reports it.
    ///
    /// # Errors
    ///
    /// If the shell could not be started, with the error of the system.
    pub(super) async fn started(&mut self, supervised: &Supervised) -> io::Result<()> {
        loop {
            match self.frames.next()? {
                Some(Frame::Started { supervisor, shell }) => {
                    supervised.started(supervisor, shell);
                    return Ok(());
                }
                Some(Frame::Waited { micros }) => supervised.waited(micros),
                Some(Frame::Failed { errno }) => return Err(io::Error::from_raw_os_error(errno)),
                // The command ran: that its shell had started was not told.
                Some(frame) => {
                    self.frames.put_back(frame);
                    return Ok(());
                }
                None if read(&self.socket, &mut self.frames).await => {}
                None => return Ok(()),
            }
        }
    }

    /// Returns the control socket.
    pub(super) fn socket(&self) -> Arc<UnixStream> {
        Arc::clone(&self.socket)
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
                Ok(Some(Frame::Waited { micros })) => supervised.waited(micros),
                Ok(Some(Frame::Failed { .. })) => return self.lose(supervised, NEVER_STARTED),
                Ok(Some(Frame::Killing)) => supervised.killing.store(true, Ordering::Relaxed),
                Ok(Some(Frame::Last)) => _ = supervised.lent.lock().take(),
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
                            // Without the spawner, no process would end the orphans of a dead supervisor. So it must live.
                            if let Some(supervisor) = supervised.supervisor() {
                                resume(supervisor);
                            }
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
            // The spawner kills the processes that a dead supervisor left, unless another process stopped the spawner first.
            resume(supervised.spawner);
        }
        supervised.end(true);
        Event::Lost(why)
    }
}

/// Resumes a process that another process stopped or is about to stop: SIGCONT also discards a stop signal that is pending.
/// The caller makes sure that the process id was not reused.
pub(super) fn resume(pid: i32) {
    // Numbers below 1 stand for more than one process, and 1 is init.
    if pid > 1 {
        _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGCONT);
    }
}

/// Reads the available frames. Returns false at the end.
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
