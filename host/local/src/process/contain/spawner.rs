//! The host's end of the spawner: starting it, asking it for supervisors, and replacing it if another process kills it.

use std::ffi::{CString, OsStr};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::cgroup::{Leaf, Parent};
use super::supervised::{self, Supervised};
use super::sys;
use super::values::{Spawn, Streams};
use super::wire::{FRAME, Frame, Request};
use crate::process::{Containment, Kind};

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
    program: PathBuf,
    current: Mutex<Running>,
    cgroup: Result<Parent, String>,
}

/// One running spawner process.
#[derive(Debug)]
struct Running {
    socket: UnixStream,
    /// Taken only at the end.
    child: Option<Child>,
    /// Cancelled when the host notices the end of the process.
    ended: CancellationToken,
    /// Cancelled when another spawner took its place.
    retired: CancellationToken,
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
                program: program.to_path_buf(),
                current: Mutex::new(Running::start(program)?),
                cgroup,
            }),
        })
    }

    /// Returns how commands are held together.
    pub fn containment(&self) -> Containment {
        match &self.inner.cgroup {
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
        tracing::error!(pid, "the spawner {why}");
        if closed {
            running.ended.cancel();
            running.kill();
        }
        let next = Running::start(&self.inner.program)?;
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
        let supervised = Supervised::new(socket, asked.spawner, leaf);
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
        let parent = self.inner.cgroup.as_ref().ok()?;
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
            supervised::resume(pid.cast_signed());
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

impl Running {
    fn start(program: &Path) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that starts processes"
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
        let mut running = Self {
            socket,
            child: Some(child),
            ended: CancellationToken::new(),
            retired: CancellationToken::new(),
        };
        running.socket.set_read_timeout(Some(PATIENCE))?;
        match read_frame(&running.socket) {
            Ok(Frame::Ready) => Ok(running),
            answer => {
                running.kill();
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

    /// Waits for the end of the process in a thread, and then cancels `ended`. The caller closes the socket.
    fn wait_for_end(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        let ended = self.ended.clone();
        let wait = move || {
            _ = child.wait();
            ended.cancel();
        };
        let thread = std::thread::Builder::new().name("spawner-end".into());
        thread.spawn(wait).map(drop)
    }

    fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            _ = child.kill();
            _ = child.wait();
        }
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

fn read_frame(mut socket: &UnixStream) -> io::Result<Frame> {
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
