//! The host's end of a spawner: asking it for supervisors, and replacing it if another process kills it.

mod layers;
mod running;
mod start;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use nix::libc;
use rustix::process::{Pid, test_kill_process};
use toolhost_sandbox::{Entered, View};

use super::cgroup::{Leaf, Parent};
use super::layer_namespaces::LayerNamespaces;
use super::spares::{Origin, Spare, Spares, watched};
use super::sys;
use super::wire::Frame;
use crate::process::{Containment, Kind};
use running::Running;

/// The argument that makes the Toolhost program a spawner.
pub const ARGUMENT: &str = "spawner";

/// The warning if there is no spawner.
pub const NO_SPAWNER: &str =
    "no supervisors: commands run without a sandbox, in plain process groups, which they can leave";

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
    /// Its supervisors that wait for a command.
    spares: Spares,
    /// The socket on which the namespaces of a chat wait, if other processes are to join them.
    joining: Option<UnixStream>,
    /// Whether other processes are to join the namespaces of its chats.
    lets_join: AtomicBool,
    cgroup: Arc<Result<Parent, String>>,
    /// Whether its commands are kept.
    keeps: AtomicBool,
}

impl Spawner {
    /// Starts the spawner. `program` is the Toolhost program: within it, `/proc/self/exe`.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or is no Toolhost of this version.
    pub fn start(program: &Path) -> io::Result<Self> {
        let spawner = Self::launch(program)?;
        spawner.wait_until_ready()?;
        Ok(spawner)
    }

    /// As [`Spawner::start`], but does not wait until the program runs. Call [`Spawner::wait_until_ready`] before it gets a command.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn launch(program: &Path) -> io::Result<Self> {
        Self::with_cgroup(program, Parent::find())
    }

    /// As [`Spawner::start`], without a cgroup for each command even where that is possible.
    ///
    /// # Errors
    ///
    /// As for [`Spawner::start`].
    pub fn start_without_cgroup(program: &Path) -> io::Result<Self> {
        let spawner = Self::launch_without_cgroup(program)?;
        spawner.wait_until_ready()?;
        Ok(spawner)
    }

    /// As [`Spawner::launch`], without a cgroup for each command.
    ///
    /// # Errors
    ///
    /// As for [`Spawner::launch`].
    pub fn launch_without_cgroup(program: &Path) -> io::Result<Self> {
        Self::with_cgroup(program, Err("it was switched off".into()))
    }

    /// Waits until the program runs. Returns at once if it already does.
    ///
    /// # Errors
    ///
    /// If it is no Toolhost of this version, or does not answer. It is ended then.
    pub fn wait_until_ready(&self) -> io::Result<()> {
        let mut running = self.running();
        let program = self.inner.program.as_deref();
        program.map_or(Ok(()), |program| running.wait_until_ready(program))
    }

    fn with_cgroup(program: &Path, cgroup: Result<Parent, String>) -> io::Result<Self> {
        Ok(Self {
            inner: Arc::new(Inner {
                program: Some(program.to_path_buf()),
                current: Mutex::new(Running::launch(program)?),
                // The first command waits for no fork.
                spares: Spares::new(1),
                joining: None,
                lets_join: AtomicBool::new(false),
                cgroup: Arc::new(cgroup),
                keeps: AtomicBool::new(false),
            }),
        })
    }

    /// Starts a spawner in namespaces of its own, which show this view. Its commands are in them as well. If the view has layers, they are
    /// copies of those in which the layers are mounted. Call it within a tokio runtime.
    ///
    /// It cannot be replaced: once it has ended, it starts nothing more.
    ///
    /// # Errors
    ///
    /// If the kernel refuses the namespaces or a part of the view, with what it refuses as the text.
    pub(in crate::process) fn within(
        &self,
        view: &View,
        layers: Option<&LayerNamespaces>,
    ) -> io::Result<(Self, Entered)> {
        let request = sys::in_memory(&view.encode())?;
        let (socket, theirs) = UnixStream::pair()?;
        let lets_join = self.inner.lets_join.load(Ordering::Relaxed);
        let joining = lets_join.then(UnixStream::pair).transpose()?;
        let mut sent = vec![theirs.as_fd(), request.as_fd()];
        sent.extend(
            layers
                .iter()
                .flat_map(|layers| layers.descriptors().map(AsFd::as_fd)),
        );
        sent.extend(joining.iter().map(|(_, theirs)| theirs.as_fd()));
        let layered = layers.is_some();
        let host = self.send(Frame::Enter { layered, lets_join }, &sent)?;
        drop(theirs);
        let spares = Spares::new(0);
        let running = Running::within(socket, spares.clone());
        let (running, new) = running.inspect_err(|error| {
            // Another process took the descriptors of the spawner, so that it could not take those of the message.
            if error.kind() == io::ErrorKind::UnexpectedEof {
                let why = "does not answer: another is started beside it";
                _ = self.replace(host.pid, why, false);
            }
        })?;
        let mut new = new.into_iter();
        let entered = view.entered(&mut new);
        let entered = entered.ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        let first = new.next();
        let first = first.map(|commands| Spare::new(commands, &running.origin));
        first.into_iter().for_each(|spare| spares.add(spare));
        let inner = Inner {
            program: None,
            current: Mutex::new(running),
            spares,
            joining: joining.map(|(ours, _)| ours),
            lets_join: AtomicBool::new(false),
            cgroup: Arc::clone(&self.inner.cgroup),
            keeps: AtomicBool::new(self.inner.keeps.load(Ordering::Relaxed)),
        };
        let spawner = Self {
            inner: Arc::new(inner),
        };
        Ok((spawner, entered))
    }

    /// Lets the spawner outlive this process for as long as kept commands run. Must be called before the first command, and before
    /// [`Spawner::within`].
    ///
    /// # Errors
    ///
    /// If the spawner cannot be told.
    pub(in crate::process) fn keep(&self) -> io::Result<()> {
        self.inner.keeps.store(true, Ordering::Relaxed);
        self.send(Frame::Keep, &[]).map(drop)
    }

    /// Takes over the cgroup of a command of an earlier host, given by its directory.
    pub(super) fn adopt_leaf(&self, directory: OwnedFd) -> io::Result<Leaf> {
        match &*self.inner.cgroup {
            Ok(parent) => parent.adopt(directory),
            Err(_) => Leaf::adopted(directory, Arc::default()),
        }
    }

    /// Lets other processes join the namespaces of the chats that begin from now on.
    pub(in crate::process) fn lets_join(&self) {
        self.inner.lets_join.store(true, Ordering::Relaxed);
    }

    /// Returns the namespaces of the chat, once, in the order in which a process joins them.
    pub(super) fn namespaces(&self) -> io::Result<Vec<OwnedFd>> {
        let joining = self.inner.joining.as_ref();
        let joining = joining.ok_or(io::ErrorKind::NotFound)?;
        let (_, namespaces) = sys::receive_waiting(joining.as_fd(), &mut [0])?;
        Ok(namespaces)
    }

    /// Makes an unconnected TCP socket in the namespaces of the spawner, which does not block. Blocks until the spawner answers.
    ///
    /// # Errors
    ///
    /// If the spawner cannot make one, or does not answer.
    pub(in crate::process) fn tcp_socket(&self, v6: bool) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        self.send(Frame::Connect { v6 }, &[theirs.as_fd()])?;
        drop(theirs);
        let made = running::receive_ready(&ours, "the spawner of the chat has ended")?;
        // Without it, this process may have no more descriptors.
        let made = made.into_iter().next();
        made.ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))
    }

    /// Returns whether the process has ended.
    pub(in crate::process) fn has_ended(&self) -> bool {
        self.running().has_ended()
    }

    /// Ends the spawner of a chat in which no command runs. [`Spawner::gone`] waits for its end.
    pub(in crate::process) fn end(&self) {
        _ = self.running().socket.shutdown(std::net::Shutdown::Both);
    }

    /// Waits until nothing is left of the spawner of a chat that was ended: its spare supervisors have closed their sockets, and it is no
    /// zombie, which would count as a process.
    pub(in crate::process) async fn gone(&self) {
        const ROUND: Duration = Duration::from_millis(1);
        let (ended, pid) = {
            let running = self.running();
            (running.origin.ended.clone(), running.pid())
        };
        ended.cancelled().await;
        let pid = Pid::from_raw(pid.cast_signed());
        while pid.is_some_and(|pid| test_kill_process(pid).is_ok()) {
            tokio::time::sleep(ROUND).await;
        }
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

    /// Returns how many supervisors wait for a command.
    pub fn spares(&self) -> usize {
        self.inner.spares.len()
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
            Ok::<_, io::Error>((socket, Arc::clone(&running.origin)))
        });
        let (socket, origin) = current.await.map_err(io::Error::other)??;
        let socket = watched(socket.into())?;
        tokio::select! {
            ended = self.inner.spares.receive(&origin, socket) => ended?,
            () = origin.retired.cancelled() => return Ok(()),
        }
        let spawner = self.clone();
        tokio::task::spawn_blocking(move || spawner.replace(origin.pid, KILLED, true))
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
            running.origin.ended.cancel();
            running.kill();
            return Err(io::Error::other(format!("the spawner of the chat {why}")));
        };
        tracing::error!(pid, "the spawner {why}");
        if closed {
            running.origin.ended.cancel();
            running.kill();
        }
        let next = Running::start(program)?;
        if self.inner.keeps.load(Ordering::Relaxed) {
            sys::send(next.socket.as_fd(), &Frame::Keep.encode(), &[])?;
        }
        let mut old = std::mem::replace(&mut *running, next);
        old.origin.retired.cancel();
        self.inner.spares.end_all_of(&old.origin);
        old.wait_for_end()
    }

    /// Sends a message to the spawner, or to its replacement if it has ended. Returns the spawner that got it.
    ///
    /// # Errors
    ///
    /// If the kernel does not take the message, which says nothing about the spawner: a command can bring more descriptors on their way
    /// than this user may have, for example.
    fn send(&self, frame: Frame, fds: &[BorrowedFd<'_>]) -> io::Result<Arc<Origin>> {
        let raw: Vec<_> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let give_up = Instant::now() + PATIENCE;
        loop {
            let running = self.running();
            let origin = Arc::clone(&running.origin);
            // A command of the same user can have stopped the spawner.
            running.resume();
            let sent = sys::send(running.socket.as_fd(), &frame.encode(), &raw);
            drop(running);
            match sent {
                Ok(()) => return Ok(origin),
                Err(error) if has_ended(&error) && Instant::now() < give_up => {
                    self.replace(origin.pid, KILLED, true)?;
                }
                // The spawner is busy: its socket is full.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() >= give_up {
                        let text = "the spawner takes no message";
                        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.inner.current.lock()
    }
}

/// Returns whether an error of a send proves that the receiver has closed its socket.
fn has_ended(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
    )
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
