//! The host's end of the spawner: starting it, asking it for supervisors, and replacing it if somebody kills it.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::memfd::{MFdFlags, memfd_create};
use tokio_util::sync::CancellationToken;

use super::cgroup::{Leaf, Parent};
use super::supervised::{self, Supervised};
use super::sys;
use super::wire::{FRAME, Frame, Request};
use super::{Contained, Containment, Kind, Spawn, Spawned, Watch};

/// The argument that makes the Toolhost program a spawner.
pub(crate) const ARGUMENT: &str = "spawner";

/// How long the spawner, or a supervisor, may take to answer. An executable on a file system that hangs takes that long;
/// otherwise it is milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Forks a supervisor for every command. Cheap to clone: clones share the one program.
///
/// It is started with an empty environment, and ends when the last clone is dropped and all that it looks after has ended,
/// which that ends too.
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

/// One spawner that was started.
#[derive(Debug)]
struct Running {
    socket: UnixStream,
    /// Taken only at the end.
    child: Option<Child>,
    /// Cancelled when its end was noticed.
    ended: CancellationToken,
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
    /// As there.
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

    /// Waits until the present spawner ends, and starts another. Those whom it had started see their token cancelled.
    ///
    /// # Errors
    ///
    /// If no other can be started. The next command tries again.
    pub(in crate::process) async fn replace_when_ended(&self) -> io::Result<()> {
        let (socket, pid) = {
            let running = self.running();
            let socket = running.socket.try_clone()?;
            (socket, running.pid())
        };
        socket.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(socket)?;
        let mut buffer = [0; FRAME];
        // It says nothing after its first word, so what can be read is its end.
        loop {
            socket.readable().await?;
            match socket.try_read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(1..) => {}
                _ => break,
            }
        }
        let spawner = self.clone();
        tokio::task::spawn_blocking(move || spawner.replace(pid))
            .await
            .map_err(io::Error::other)?
    }

    /// Starts another spawner in the place of this one, whose socket is closed, unless somebody did before.
    fn replace(&self, pid: u32) -> io::Result<()> {
        let mut running = self.running();
        if running.pid() != pid {
            return Ok(());
        }
        tracing::error!(
            pid = running.pid(),
            "the spawner was killed: what it had started is ended, and another is started"
        );
        running.ended.cancel();
        running.kill();
        *running = Running::start(&self.inner.program)?;
        Ok(())
    }

    /// Starts a command and waits until its shell has executed, or could not. To be called within a runtime.
    pub(super) fn spawn(&self, spawn: &Spawn<'_>) -> io::Result<Spawned> {
        let (reader, writer) = io::pipe()?;
        let (ours, theirs) = UnixStream::pair()?;
        let request = in_memory(&request(spawn).encode())?;
        let stdin = match spawn.stdin {
            None => File::open("/dev/null")?.into(),
            // A file, not a pipe: nobody has to feed it, whatever the command does with it.
            Some(bytes) => in_memory(bytes)?,
        };
        let leaf = self.leaf();
        let mut fds = vec![
            request.as_fd(),
            theirs.as_fd(),
            writer.as_fd(),
            stdin.as_fd(),
        ];
        fds.extend(leaf.as_ref().map(AsFd::as_fd));
        let frame = Frame::Start {
            cgroup: leaf.is_some(),
        };
        let (spawner, ended) = self.send(frame, &fds)?;
        drop((theirs, writer));
        ours.set_read_timeout(Some(PATIENCE))?;
        let (supervisor, shell) = match read_frame(&ours) {
            Ok(Frame::Started { supervisor, shell }) => (supervisor, shell),
            Ok(Frame::Failed { errno }) => return Err(io::Error::from_raw_os_error(errno)),
            Ok(_) => return Err(io::Error::other("the supervisor answered something else")),
            // Somebody killed it, perhaps the command before this heard of it: it may have run, so it counts as lost.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => (0, 0),
            Err(error) => return Err(error),
        };
        ours.set_nonblocking(true)?;
        let socket = Arc::new(tokio::net::UnixStream::from_std(ours)?);
        let watch = supervised::Watch::new(Arc::clone(&socket), spawner, ended);
        let supervised = Supervised::new(socket, supervisor, shell, leaf);
        Ok(Spawned {
            contained: Contained::Supervised(supervised),
            watch: Watch::Supervised(watch),
            output: reader,
        })
    }

    fn leaf(&self) -> Option<Leaf> {
        let parent = self.inner.cgroup.as_ref().ok()?;
        let leaf = parent.leaf();
        leaf.inspect_err(|error| tracing::warn!(%error, "no cgroup for a command: its supervisor holds it alone"))
            .ok()
    }

    /// Sends a message to the spawner, to another one if it has ended. Returns the number and the token of the
    /// one that got it.
    fn send(&self, frame: Frame, fds: &[BorrowedFd<'_>]) -> io::Result<(i32, CancellationToken)> {
        let raw: Vec<_> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let give_up = Instant::now() + PATIENCE;
        loop {
            let running = self.running();
            let pid = running.pid();
            // A command of the same user can have stopped it.
            supervised::let_go(pid.cast_signed());
            let sent = sys::send(running.socket.as_fd(), &frame.encode(), &raw);
            let ended = running.ended.clone();
            drop(running);
            match sent {
                Ok(()) => return Ok((pid.cast_signed(), ended)),
                Err(error) if Instant::now() >= give_up => return Err(error),
                // It has much to do.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(_) => self.replace(pid)?,
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.inner
            .current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let running = self
            .current
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        // The end of the socket ends it, but not at once: it waits for its supervisors. Somebody has to wait for it, or its
        // zombie stays for as long as this process.
        _ = running.socket.shutdown(std::net::Shutdown::Both);
        if let Some(mut child) = running.child.take() {
            let wait = move || _ = child.wait();
            _ = std::thread::Builder::new()
                .name("spawner-end".into())
                .spawn(wait);
        }
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

fn request(spawn: &Spawn<'_>) -> Request {
    let env = spawn.env.iter();
    Request {
        shell: spawn.shell.into(),
        command: spawn.command.into(),
        workdir: spawn.workdir.into(),
        env: env
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        nice: spawn.nice,
        oom_score_adj: spawn.oom_score_adj,
    }
}

/// Puts bytes into a file without a name, to be read from its start.
pub(super) fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(c"toolhost", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn read_frame(mut socket: &UnixStream) -> io::Result<Frame> {
    let mut frame = [0; FRAME];
    socket.read_exact(&mut frame).map_err(|error| {
        let text = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ended before it answered",
            io::ErrorKind::WouldBlock => "it does not answer",
            _ => return error,
        };
        io::Error::new(error.kind(), text)
    })?;
    Frame::decode(frame)
}
