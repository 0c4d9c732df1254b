//! The host's end of a spawner: asking it for supervisors, and replacing it if another process kills it.

mod running;

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use nix::libc;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::UnshareFlags;
use toolhost_sandbox::{Entered, View};

use super::cgroup::{Leaf, Parent};
use super::supervised::{self, Supervised};
use super::sys;
use super::values::{Spawn, Streams};
use super::wire::{FRAME, Frame, Request};
use crate::process::{Containment, Kind};
use running::{Running, read_frame};

/// The argument that makes the Toolhost program a spawner.
pub const ARGUMENT: &str = "spawner";

/// How long the spawner, or a supervisor, may take to answer. Usually an answer takes milliseconds; it takes this long if the
/// executable is on a file system that hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The reason for a replacement if the socket is closed.
const KILLED: &str = "was killed: what it had started is ended, and another is started";

/// The pause after a spawner could not be started.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Forks a supervisor for every command. Cheap to clone: clones share the one program.
///
/// It is started with an empty environment. It ends when the last clone is dropped and all its commands have ended.
#[derive(Clone, Debug)]
pub struct Spawner {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None` for the spawner of a chat, which cannot be replaced: its successor has other namespaces.
    program: Option<PathBuf>,
    current: Mutex<Running>,
    /// Those that are its own.
    namespaces: UnshareFlags,
    cgroup: Arc<Result<Parent, String>>,
}

/// A supervisor that the spawner accepted to start.
struct Asked {
    control: UnixStream,
    spawner: i32,
    spawner_ended: CancellationToken,
}

impl Spawner {
    /// Starts the spawner. `program` is the Toolhost program: within it, `/proc/self/exe`.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or is no Toolhost of this version.
    pub fn start(program: &Path) -> io::Result<Self> {
        Self::with_cgroup(program, Parent::find())
    }

    /// As [`Spawner::start`], without a cgroup for each command even where that is possible.
    ///
    /// # Errors
    ///
    /// As for [`Spawner::start`].
    pub fn start_without_cgroup(program: &Path) -> io::Result<Self> {
        Self::with_cgroup(program, Err("it was switched off".into()))
    }

    fn with_cgroup(program: &Path, cgroup: Result<Parent, String>) -> io::Result<Self> {
        Ok(Self {
            inner: Arc::new(Inner {
                program: Some(program.to_path_buf()),
                current: Mutex::new(Running::start(program)?),
                namespaces: UnshareFlags::empty(),
                cgroup: Arc::new(cgroup),
            }),
        })
    }

    /// Starts a spawner in namespaces of its own, which show this view. Its commands are in them as well. Call it within a tokio
    /// runtime.
    ///
    /// It cannot be replaced: once it has ended, it starts nothing more.
    ///
    /// # Errors
    ///
    /// If the kernel refuses the namespaces or a part of the view, with what it refuses as the text.
    pub fn within(&self, view: &View) -> io::Result<(Self, Entered)> {
        let request = sys::in_memory(&view.encode())?;
        let (socket, theirs) = UnixStream::pair()?;
        self.send(Frame::Enter, &[theirs.as_fd(), request.as_fd()])?;
        drop(theirs);
        let (running, new) = Running::within(socket)?;
        let entered = view.entered(new);
        let entered = entered.ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        let inner = Inner {
            program: None,
            current: Mutex::new(running),
            namespaces: view.namespaces(),
            cgroup: Arc::clone(&self.inner.cgroup),
        };
        let spawner = Self {
            inner: Arc::new(inner),
        };
        Ok((spawner, entered))
    }

    pub(super) fn namespaces(&self) -> UnshareFlags {
        self.inner.namespaces
    }

    /// Returns a descriptor of the process.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        let pid = Pid::from_raw(self.pid().cast_signed()).ok_or(io::ErrorKind::NotFound)?;
        Ok(pidfd_open(pid, PidfdFlags::empty())?)
    }

    /// Returns whether the process has ended.
    pub(in crate::process) fn has_ended(&self) -> bool {
        self.running().has_ended()
    }

    /// Returns how commands are held together.
    pub fn containment(&self) -> Containment {
        match &*self.inner.cgroup {
            Ok(_) => Containment {
                kind: Kind::Cgroup,
                reason: None,
            },
            Err(why) => Containment {
                kind: Kind::Supervisor,
                reason: Some(why.clone()),
            },
        }
    }

    /// Returns the process id of the spawner.
    pub fn pid(&self) -> u32 {
        self.running().pid()
    }

    /// Starts another spawner whenever the present one ends.
    pub(in crate::process) async fn keep_running(self) {
        loop {
            if let Err(error) = self.replace_when_ended().await {
                tracing::error!(%error, "failed to start another spawner");
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }

    /// Waits until the present spawner ends, and starts another. The supervisors of the old one see their token cancelled.
    ///
    /// # Errors
    ///
    /// If no other can be started. The next command tries again.
    async fn replace_when_ended(&self) -> io::Result<()> {
        let spawner = self.clone();
        // On a thread for blocking work, because a replacement holds the lock for as long as it takes.
        let current = tokio::task::spawn_blocking(move || {
            let running = spawner.running();
            let socket = running.socket.try_clone()?;
            Ok::<_, io::Error>((socket, running.pid(), running.retired.clone()))
        });
        let (socket, pid, retired) = current.await.map_err(io::Error::other)??;
        socket.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(socket)?;
        let mut buffer = [0; FRAME];
        // The spawner sends nothing after `Ready`, so the socket becomes readable only at its end.
        loop {
            tokio::select! {
                readable = socket.readable() => readable?,
                () = retired.cancelled() => return Ok(()),
            }
            match socket.try_read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(1..) => {}
                _ => break,
            }
        }
        let spawner = self.clone();
        tokio::task::spawn_blocking(move || spawner.replace(pid, KILLED, true))
            .await
            .map_err(io::Error::other)?
    }

    /// Starts another spawner in the place of this one, unless it is already replaced. If its socket is `closed`, its commands
    /// are lost at once. Otherwise it does not answer: its commands run on, and are lost only when it ends.
    fn replace(&self, pid: u32, why: &str, closed: bool) -> io::Result<()> {
        let mut running = self.running();
        if running.pid() != pid {
            return Ok(());
        }
        let Some(program) = &self.inner.program else {
            // With it, the kernel ends all commands of its chat.
            running.ended.cancel();
            running.kill();
            return Err(io::Error::other(format!("the spawner of the chat {why}")));
        };
        tracing::error!(pid, "the spawner {why}");
        if closed {
            running.ended.cancel();
            running.kill();
        }
        let next = Running::start(program)?;
        let mut old = std::mem::replace(&mut *running, next);
        old.retired.cancel();
        old.wait_for_end()
    }

    /// Starts a command and waits until its shell has executed, or could not. The caller must be within a tokio runtime.
    pub(super) fn spawn(
        &self,
        spawn: &Spawn<'_>,
        streams: Streams,
    ) -> io::Result<(Supervised, supervised::Watch)> {
        let request = sys::in_memory(&request(spawn)?.encode())?;
        let leaf = self.leaf();
        let Streams { output, stdin } = &streams;
        let mut fds = vec![request.as_fd(), output.as_fd(), stdin.as_fd()];
        fds.extend(leaf.as_ref().map(AsFd::as_fd));
        let attached = fds.len();
        fds.extend(spawn.sandbox.descriptors());
        let start = Frame::Start {
            cgroup: leaf.is_some(),
            ruleset: fds.len() > attached,
        };
        let asked = match self.ask(start, &fds)? {
            Ok(asked) => asked,
            // Ask the spawner that replaced the failed one.
            Err(_) => self.ask(start, &fds)??,
        };
        drop(streams);
        let started = match read_frame(&asked.control) {
            Ok(Frame::Started { supervisor, shell }) => Some((supervisor, shell)),
            Ok(Frame::Failed { errno }) => return Err(io::Error::from_raw_os_error(errno)),
            Ok(_) => return Err(io::Error::other("the supervisor answered something else")),
            // Either the supervisor was killed, perhaps by the command before this answer was sent; or a file system hangs, and
            // the shell may start yet. So the command counts as started: its watch reports the rest.
            Err(_) => None,
        };
        asked.control.set_nonblocking(true)?;
        let socket = Arc::new(tokio::net::UnixStream::from_std(asked.control)?);
        let watch = supervised::Watch::new(Arc::clone(&socket), asked.spawner_ended);
        let is_of_chat = self.inner.program.is_none();
        let supervised = Supervised::new(socket, asked.spawner, is_of_chat, leaf);
        if let Some((supervisor, shell)) = started {
            supervised.started(supervisor, shell);
        }
        Ok((supervised, watch))
    }

    /// Asks for a supervisor, and waits until the spawner accepts. The inner error says why a spawner failed, which is then
    /// replaced.
    fn ask(&self, start: Frame, fds: &[BorrowedFd<'_>]) -> io::Result<io::Result<Asked>> {
        let (control, theirs) = UnixStream::pair()?;
        control.set_read_timeout(Some(PATIENCE))?;
        let (spawner, spawner_ended) = {
            let theirs = theirs;
            let attached = std::iter::once(theirs.as_fd()).chain(fds.iter().copied());
            self.send(start, &attached.collect::<Vec<_>>())?
        };
        let failed = match read_frame(&control) {
            Ok(Frame::Accepted) => {
                return Ok(Ok(Asked {
                    control,
                    spawner: spawner.cast_signed(),
                    spawner_ended,
                }));
            }
            Ok(Frame::Failed { errno }) => io::Error::from_raw_os_error(errno),
            Ok(_) => io::Error::other("the spawner answered something else"),
            Err(error) => error,
        };
        // A command of the same user can freeze the spawner, or take its descriptors.
        let why = format!("does not work ({failed}): another is started beside it");
        self.replace(spawner, &why, false)?;
        Ok(Err(failed))
    }

    fn leaf(&self) -> Option<Leaf> {
        let parent = self.inner.cgroup.as_ref().as_ref().ok()?;
        let leaf = parent.leaf();
        leaf.inspect_err(|error| tracing::warn!(%error, "no cgroup for a command: its supervisor contains it alone"))
            .ok()
    }

    /// Sends a message to the spawner, or to its replacement if it has ended. Returns the process id and the token of the
    /// spawner that got it.
    fn send(&self, frame: Frame, fds: &[BorrowedFd<'_>]) -> io::Result<(u32, CancellationToken)> {
        let raw: Vec<_> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let give_up = Instant::now() + PATIENCE;
        loop {
            let running = self.running();
            let pid = running.pid();
            // A command of the same user can have stopped the spawner.
            running.resume();
            let sent = sys::send(running.socket.as_fd(), &frame.encode(), &raw);
            let ended = running.ended.clone();
            drop(running);
            match sent {
                Ok(()) => return Ok((pid, ended)),
                Err(error) if Instant::now() >= give_up => return Err(error),
                // The spawner is busy: its socket is full.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(_) => self.replace(pid, KILLED, true)?,
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.inner.current.lock()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let running = self.current.get_mut();
        // Closing the socket ends the spawner, but only after its supervisors. A thread waits for it, because otherwise its
        // zombie stays for as long as this process.
        _ = running.socket.shutdown(std::net::Shutdown::Both);
        _ = running.wait_for_end();
    }
}

fn request(spawn: &Spawn<'_>) -> io::Result<Request> {
    let text = |text: &OsStr| CString::new(text.as_bytes());
    let env = spawn.env.iter();
    let env =
        env.map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
    Ok(Request {
        shell: text(spawn.shell.as_os_str())?,
        command: text(spawn.command.as_ref())?,
        workdir: text(spawn.workdir.as_os_str())?,
        env: env.collect::<Result<_, _>>()?,
        nice: spawn.nice,
        oom_score_adj: spawn.oom_score_adj,
        sandbox: spawn.sandbox.encode(),
    })
}
