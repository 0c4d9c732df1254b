//! A spawner process, as the host sees it.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio_util::sync::CancellationToken;

use super::{ARGUMENT, PATIENCE};
use crate::process::contain::spares::{Origin, Spares, watched};
use crate::process::contain::sys;
use crate::process::contain::wire::{FRAME, Frame};
use crate::process::shortage::Reported;

/// One running spawner process.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) socket: UnixStream,
    /// Taken only at the end.
    process: Option<Process>,
    /// Whether its first message was read.
    is_ready: bool,
    pub(super) origin: Arc<Origin>,
}

#[derive(Debug)]
enum Process {
    /// A child of the host.
    Own(Child),
    /// The spawner of a chat, which is a child of the host's own.
    OfChat { descriptor: OwnedFd },
}

impl Running {
    /// Starts the spawner of the host, and waits until it runs.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let mut running = Self::launch(program)?;
        running.wait_until_ready(program)?;
        Ok(running)
    }

    /// Starts the spawner of the host.
    pub(super) fn launch(program: &Path) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the spawner itself is started here"
        )]
        let child = std::process::Command::new(program)
            .arg0("toolhost")
            .arg(ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let running = Self::new(socket, child.id(), Process::Own(child));
        Ok(Self {
            is_ready: false,
            ..running
        })
    }

    /// Waits for the first message of the spawner of the host.
    pub(super) fn wait_until_ready(&mut self, program: &Path) -> io::Result<()> {
        if self.is_ready {
            return Ok(());
        }
        match read_frame(&self.socket) {
            Ok(Frame::Ready) => {
                self.is_ready = true;
                Ok(())
            }
            answer => {
                self.kill();
                let why = answer.err().map_or_else(
                    || "it answered something else".to_owned(),
                    |error| error.to_string(),
                );
                Err(io::Error::other(format!(
                    "{} does not work as a spawner: {why}",
                    program.display()
                )))
            }
        }
    }

    /// Waits for the spawner of a chat, which was asked for with the other end of this socket. Returns what it found in its
    /// namespaces as well.
    pub(super) fn within(socket: UnixStream, spares: Spares) -> io::Result<(Self, Vec<OwnedFd>)> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let pid = match read_frame(&socket)? {
            Frame::Entered { spawner } => spawner,
            Frame::Failed { errno } => return Err(refused(&socket, errno)),
            _ => return Err(io::Error::other("the spawner answered something else")),
        };
        let known = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        // It cannot have been reaped and its number reused before it is ready, unless it failed. Then its answer below says why.
        let descriptor = pidfd_open(known, PidfdFlags::empty());
        let new = receive_ready(&socket, "the spawner of the chat ended at once")?;
        let descriptor = descriptor?;
        let messages = watched(socket.try_clone()?.into())?;
        let process = Process::OfChat { descriptor };
        let running = Self::new(socket, pid.unsigned_abs(), process);
        let origin = Arc::clone(&running.origin);
        tokio::spawn(async move {
            // This ends with the process.
            _ = spares.receive(&origin, messages).await;
            origin.ended.cancel();
        });
        Ok((running, new))
    }

    fn new(socket: UnixStream, pid: u32, process: Process) -> Self {
        let origin = Origin {
            pid,
            ended: CancellationToken::new(),
            retired: CancellationToken::new(),
        };
        Self {
            socket,
            process: Some(process),
            is_ready: true,
            origin: Arc::new(origin),
        }
    }

    /// Waits for the end of the process in a thread, and then cancels `ended`. The caller closes the socket.
    pub(super) fn wait_for_end(&mut self) -> io::Result<()> {
        let Some(Process::Own(mut child)) = self.process.take() else {
            return Ok(());
        };
        let ended = self.origin.ended.clone();
        let wait = move || {
            _ = child.wait();
            ended.cancel();
        };
        let thread = std::thread::Builder::new().name("spawner-end".into());
        thread.spawn(wait).map(drop)
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, |_| self.origin.pid)
    }

    /// Returns whether the process has ended, as far as that is known for one of the host's own.
    pub(super) fn has_ended(&self) -> bool {
        let Some(Process::OfChat { descriptor }) = &self.process else {
            return self.origin.ended.is_cancelled();
        };
        let mut fds = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Resumes the process if another one stopped it.
    pub(super) fn resume(&self) {
        match &self.process {
            None => {}
            Some(Process::Own(child)) => {
                crate::process::contain::supervised::resume(child.id().cast_signed());
            }
            Some(Process::OfChat { descriptor }) => {
                _ = pidfd_send_signal(descriptor, Signal::CONT);
            }
        }
    }

    pub(super) fn kill(&mut self) {
        match &mut self.process {
            None => {}
            Some(Process::Own(child)) => {
                _ = child.kill();
                _ = child.wait();
            }
            Some(Process::OfChat { descriptor }) => {
                _ = pidfd_send_signal(descriptor, Signal::KILL);
            }
        }
    }
}

/// Waits until the process at the other end of a socket is ready. Returns the descriptors that it attached. `ended` is the error if it ended
/// instead.
pub(super) fn receive_ready(socket: &UnixStream, ended: &str) -> io::Result<Vec<OwnedFd>> {
    let mut frame = [0; FRAME];
    let (count, attached) = sys::receive_waiting(socket.as_fd(), &mut frame)?;
    match Frame::decode(frame) {
        Ok(Frame::Ready) if count == FRAME => Ok(attached),
        Ok(Frame::Failed { errno }) if count == FRAME => Err(refused(socket, errno)),
        _ => Err(io::Error::new(io::ErrorKind::ConnectionAborted, ended)),
    }
}

/// Returns the error of a process that could not enter its namespaces, or mount layers.
fn refused(mut socket: &UnixStream, errno: i32) -> io::Error {
    let mut text = String::new();
    match socket.read_to_string(&mut text) {
        Ok(1..) => io::Error::other(Reported { errno, text }),
        _ => io::Error::from_raw_os_error(errno),
    }
}

pub(super) fn read_frame(mut socket: &UnixStream) -> io::Result<Frame> {
    let mut frame = [0; FRAME];
    socket.read_exact(&mut frame).map_err(|error| {
        let text = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it hung up before it answered",
            io::ErrorKind::WouldBlock => "no answer in 10 s",
            _ => return error,
        };
        io::Error::new(error.kind(), text)
    })?;
    Frame::decode(frame)
}
