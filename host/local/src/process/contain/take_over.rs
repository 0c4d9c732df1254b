//! Taking a kept command over from its supervisor.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::geteuid;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::cgroup::Leaf;
use super::end::End;
use super::kept::{Answer, Attached, Greeting, Line, Outlet, Place, Spool, is_id};
use super::supervised::{self, Supervised};
use super::values::InputEnd;
use super::wire::VERSION;
use super::{Contained, Event, LayerNamespaces, Output, Spawner, Watch, group, proc, receive};
use nix::sys::signal::Signal;

/// How long a supervisor may take to answer. Usually an answer takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause before another attempt at a socket to which too many programs connect.
const AGAIN: Duration = Duration::from_millis(10);

/// How long a supervisor that was told to end its command may take for that.
const ENDING: Duration = Duration::from_secs(3);

/// The reasons why a command is lost that was kept.
const SUPERVISOR_ENDED: &str = "its supervisor was killed while no host was there";
const OTHER_VERSION: &str =
    "it was kept by another version of Toolhost, which cannot hand it over, so it was ended";
const OTHER_USER: &str = "another user listens on its socket";
const NO_ANSWER: &str = "its supervisor does not answer";
const NO_DESCRIPTORS: &str =
    "its supervisor could not hand it over, as this host cannot open more files";

/// What a host finds of a command of an earlier host.
#[derive(Debug)]
pub(in crate::process) enum Found {
    /// It was kept, and is now one of this host.
    Taken(Box<Taken>),
    /// It was kept, and has no supervisor any more.
    Ended(Ended),
    /// It was not kept.
    Nothing,
}

/// What is left of a command that was kept.
#[derive(Debug)]
pub(in crate::process) struct Ended {
    pub(in crate::process) end: End,
    pub(in crate::process) spool: Spool,
    /// The reason why it is lost, if it is not known how its shell ended.
    pub(in crate::process) why: &'static str,
}

/// A command that was taken over.
#[derive(Debug)]
pub(in crate::process) struct Taken {
    pub(in crate::process) contained: Contained,
    pub(in crate::process) watch: Watch,
    pub(in crate::process) output: Output,
    pub(in crate::process) input: Option<InputEnd>,
    pub(in crate::process) spool: Arc<Spool>,
    /// The namespaces of the layers of its home.
    pub(in crate::process) layers: Option<LayerNamespaces>,
}

impl Place {
    /// Takes a command over. The spawner is that of this host. Must be called within a tokio runtime.
    pub(in crate::process) async fn take_over(&self, id: &str, own: Option<&Spawner>) -> Found {
        if !is_id(id) {
            return Found::Nothing;
        }
        let why = match self.ask(id, own).await {
            Ok(taken) => return Found::Taken(Box::new(taken)),
            Err(Refusal::Ended) => SUPERVISOR_ENDED,
            Err(Refusal::Lost(why)) => {
                tracing::error!(process = id, "a kept command is lost: {why}");
                why
            }
        };
        let ended = self.ended(id, why).unwrap_or_else(|error| {
            tracing::warn!(process = id, %error, "the files of a kept command cannot be read");
            None
        });
        ended.map_or(Found::Nothing, Found::Ended)
    }

    /// Ends a command that no record names.
    pub(in crate::process) async fn end_unknown(&self, id: &str) {
        let Found::Taken(taken) = self.take_over(id, None).await else {
            return;
        };
        tracing::warn!(process = id, "ends a kept command that no record names");
        let Taken {
            contained,
            mut watch,
            ..
        } = *taken;
        _ = contained.signal(Signal::SIGKILL);
        let gone = async { while matches!(watch.next(&contained).await, Event::Exited(_)) {} };
        _ = timeout(ENDING, gone).await;
    }

    /// Reads what is left of a command.
    fn ended(&self, id: &str, why: &'static str) -> io::Result<Option<Ended>> {
        let (Some(end), Some(spool)) = (self.end(id)?, self.spool(id)?) else {
            return Ok(None);
        };
        let mut end = End::read(end)?;
        if why != SUPERVISOR_ENDED {
            // It ended because it could not be taken over.
            end.exit = None;
        }
        Ok(Some(Ended { end, spool, why }))
    }

    async fn ask(&self, id: &str, own: Option<&Spawner>) -> Result<Taken, Refusal> {
        let mut socket = connect(&self.socket(id)).await?;
        // The creator of the socket, which was an earlier host.
        if socket.peer_cred()?.uid() != geteuid().as_raw() {
            return Err(Refusal::Lost(OTHER_USER));
        }
        socket
            .write_all(&Greeting::new(self.key()).encode())
            .await?;
        let answered = timeout(PATIENCE, answer(&socket)).await;
        let (answer, fds) = answered.map_err(|_| Refusal::Lost(NO_ANSWER))??;
        if answer.version != VERSION {
            // The supervisor closes the socket when nothing of the command is left.
            _ = timeout(ENDING, socket.read(&mut [0])).await;
            return Err(Refusal::Lost(OTHER_VERSION));
        }
        let mut fds = fds.into_iter();
        let (Some(pipe), Some(spool), Some(supervisor)) = (fds.next(), fds.next(), fds.next())
        else {
            return Err(Refusal::Lost(NO_DESCRIPTORS));
        };
        let spool = Arc::new(Spool::new(spool));
        let (input, line) = input(answer.input, &mut fds)?;
        let layers = answer
            .layered
            .then(|| LayerNamespaces::take(&mut fds).ok_or(Refusal::Lost(NO_DESCRIPTORS)));
        let layers = layers.transpose()?;
        let outlet = Outlet::new(pipe, line);
        let socket = Arc::new(socket);
        let (spawner, is_of_chat) = parent(&supervisor)?;
        let leaf = fds.next().map(|directory| match own {
            Some(own) => own.adopt_leaf(directory),
            None => Leaf::adopted(directory, Arc::default()),
        });
        let leaf = leaf.transpose()?;
        let supervised = Supervised::new(Arc::clone(&socket), spawner, is_of_chat, leaf, None);
        let mut watch = supervised::Watch::new(Arc::clone(&socket), ended(spawner));
        let started = timeout(PATIENCE, watch.started(&supervised)).await;
        started.map_err(|_| Refusal::Lost(NO_ANSWER))??;
        Ok(Taken {
            contained: Contained::Supervised(supervised),
            watch: Watch::Supervised(watch),
            output: Output::kept(outlet, Arc::clone(&spool), socket),
            input,
            spool,
            layers,
        })
    }
}

/// Why a supervisor hands no command over.
enum Refusal {
    /// It has ended, or ended while it was asked.
    Ended,
    Lost(&'static str),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Lost(OTHER_USER),
            _ => Self::Ended,
        }
    }
}

/// Connects to a socket.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(path).await {
            // Too many programs wait to be accepted.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < give_up => {
                sleep(AGAIN).await;
            }
            connected => return connected,
        }
    }
}

/// Receives the answer of a supervisor.
async fn answer(socket: &UnixStream) -> io::Result<(Answer, Vec<OwnedFd>)> {
    let mut bytes = [0; Answer::SIZE];
    match receive(socket, &mut bytes).await? {
        (Answer::SIZE, fds) => Ok((Answer::decode(bytes)?, fds)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Takes the descriptors of the input: the end to which this host writes, and the terminal from which it reads.
fn input(
    attached: Attached,
    fds: &mut impl Iterator<Item = OwnedFd>,
) -> Result<(Option<InputEnd>, Option<Line>), Refusal> {
    let mut next = || fds.next().ok_or(Refusal::Lost(NO_DESCRIPTORS));
    Ok(match attached {
        Attached::Nothing => (None, None),
        Attached::Pipe => (Some(InputEnd::Pipe(next()?)), None),
        Attached::Terminal => {
            let line = Line {
                terminal: next()?,
                writer: next()?,
            };
            let terminal = line.terminal.try_clone()?;
            (Some(InputEnd::Terminal(terminal)), Some(line))
        }
    })
}

/// Returns the process id of the parent of a supervisor, which is its spawner, and whether the supervisor is in the namespace of a chat.
fn parent(supervisor: &OwnedFd) -> io::Result<(i32, bool)> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", supervisor.as_raw_fd()))?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:"));
    let pid = pid.and_then(|pid| pid.trim().parse().ok());
    // The descriptor names no process any more if there is none.
    let pid: i32 = pid.ok_or(io::ErrorKind::NotFound)?;
    let status = proc::status(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok((status.parent, proc::is_within(pid)))
}

/// Returns a token that is cancelled when the spawner of an earlier host ends.
fn ended(spawner: i32) -> CancellationToken {
    let token = CancellationToken::new();
    // 1 is init: the spawner was killed before.
    let watched = Pid::from_raw(spawner)
        .filter(|_| spawner > 1)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok())
        .and_then(|pidfd| group::watch(pidfd).ok());
    if let Some(watched) = watched {
        let ended = token.clone();
        // A spawner without a host ends with its last command.
        tokio::spawn(async move {
            _ = watched.readable().await;
            ended.cancel();
        });
    }
    token
}
