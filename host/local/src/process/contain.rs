//! Containment: holding a command together, so that a signal reaches all of it and no process of it outlives its end.
//!
//! With the Toolhost program at hand, every command runs below a supervisor of its own (see `spawner`), within a cgroup where
//! one was delegated to the host. A program that embeds the library and names no [`Spawner`] gets plain process groups, which
//! commands can leave. [`Containment`] tells which kind is used, and why no better one.
//!
//! Only this module starts and signals the processes of chats:
//!
//! | what | where |
//! |---|---|
//! | spawn the shell of a command: `fork` and `execve` | `program/shell.rs`, below its supervisor; `group.rs` without a spawner |
//! | signal or kill the whole tree | `program/supervisor.rs`, `tree.rs` and `cgroup.rs`; `group.rs` without a spawner |
//! | ask for either, from the host | `spawner/start.rs`, `supervised.rs` |

mod cgroup;
mod end;
mod group;
mod ignored;
mod kept;
mod layer_namespaces;
mod own_children;
mod proc;
mod program;
mod reserve;
mod sockets;
mod spares;
mod spawner;
mod supervised;
mod survivors;
mod sys;
mod take_over;
mod terminal;
mod terms;
mod tree;
mod usage;
mod values;
mod wire;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use toolhost_workspace::process::Stdin;

use super::{Containment, Kind, Survivor};
use group::Group;
use supervised::Supervised;
use toolhost_state::own_limits;
use values::Streams;

pub(super) use cgroup::limiting_processes;
pub(super) use group::{watch, watch_for};
pub use ignored::is_ignored;
pub(super) use kept::{Directories, Line, Moved, Outlet, Place, Preparation, Spool};
pub(super) use layer_namespaces::LayerNamespaces;
pub use proc::lists_children;
pub use program::run as run_spawner;
pub(super) use reserve::reserve;
pub(super) use sockets::{Listening, has_socket, open_among, tcp_socket};
pub use spawner::ARGUMENT as SPAWNER;
pub use spawner::NO_SPAWNER;
pub use spawner::Spawner;
pub(super) use take_over::{Ended, Found, Taken};
pub(super) use terminal::run_in_terminal;
pub(super) use usage::Look;
pub(super) use values::{Event, Exit, InputEnd, Output, Spawn, set_size};

/// The most survivors that are named. A list of thousands would be of no use to the reader.
const MOST_SURVIVORS: usize = 64;

/// A command that was just started.
pub(super) struct Spawned {
    pub(super) contained: Contained,
    pub(super) watch: Watch,
    pub(super) output: Output,
    /// The host's end of its standard input, if that stays open.
    pub(super) input: Option<InputEnd>,
}

/// The containment of a command that runs, or ran.
#[derive(Debug)]
pub(super) enum Contained {
    Group(Group),
    Supervised(Supervised),
    /// It ran under an earlier host, and nothing is left of it.
    Past,
}

/// The source of the events of a command. Held by the one task that moves its process along.
#[derive(Debug)]
pub(super) enum Watch {
    Group(group::Watch),
    Supervised(supervised::Watch),
}

/// Starts a command: below a supervisor if there is a spawner, else in a process group. Returns once its shell has executed. The caller
/// must be within a tokio runtime.
pub(super) async fn spawn(spawner: Option<&Spawner>, spawn: &Spawn<'_>) -> io::Result<Spawned> {
    own_limits::check_and_restore();
    let (reader, writer) = io::pipe()?;
    let Opened {
        stdin,
        input,
        terminal,
    } = Opened::new(spawn.stdin)?;
    let streams = Streams {
        output: writer,
        stdin,
    };
    if let (Some(spawner), Some(kept)) = (spawner, spawn.kept) {
        return spawn_kept(spawner, spawn, streams, reader, (input, terminal), kept).await;
    }
    let Some(spawner) = spawner else {
        if terminal.is_some() {
            return Err(io::Error::other(NO_TERMINAL));
        }
        let output = Output::Pipe(pipe::Receiver::from_owned_fd(reader.into())?);
        let (group, watch) = Group::spawn(spawn, streams).await?;
        return Ok(Spawned {
            contained: Contained::Group(group),
            watch: Watch::Group(watch),
            output,
            input: input.map(InputEnd::Pipe),
        });
    };
    let (supervised, watch) = spawner.spawn(spawn, streams, None).await?;
    let (output, input) = match terminal {
        None => {
            let output = Output::Pipe(pipe::Receiver::from_owned_fd(reader.into())?);
            (output, input.map(InputEnd::Pipe))
        }
        Some(handed) => {
            let (terminal, input) = receive_terminal(&handed).await?;
            (Output::Terminal(terminal), Some(input))
        }
    };
    Ok(Spawned {
        contained: Contained::Supervised(supervised),
        watch: Watch::Supervised(watch),
        output,
        input,
    })
}

/// Why a command gets no terminal in a plain process group.
const NO_TERMINAL: &str =
    "commands have no terminals here: without the toolhost program, they have no supervisors";

/// How long a supervisor that has started its shell may take to hand over its terminal, which it has sent before.
const HANDED: Duration = Duration::from_secs(10);

/// The standard input of a command that is about to start.
struct Opened {
    /// What the command gets, or its supervisor if it makes a terminal.
    stdin: OwnedFd,
    /// The write end, if it is a pipe.
    input: Option<OwnedFd>,
    /// The socket on which the terminal comes, if it is one.
    terminal: Option<UnixStream>,
}

impl Opened {
    fn new(stdin: &Stdin) -> io::Result<Self> {
        let given = |stdin| Self {
            stdin,
            input: None,
            terminal: None,
        };
        Ok(match stdin {
            Stdin::None => given(File::open("/dev/null")?.into()),
            // A file, not a pipe: no task has to feed it, whether or not the command reads it.
            Stdin::Bytes(bytes) => given(sys::in_memory(bytes)?),
            Stdin::Pipe => {
                let (reader, writer) = io::pipe()?;
                let writer = OwnedFd::from(writer);
                rustix::io::ioctl_fionbio(&writer, true)?;
                Self {
                    input: Some(writer),
                    ..given(reader.into())
                }
            }
            Stdin::Terminal(_) => {
                let (ours, theirs) = UnixStream::pair()?;
                Self {
                    terminal: Some(ours),
                    ..given(theirs.into_std()?.into())
                }
            }
        })
    }
}

/// Receives the terminal that a supervisor has made: to read from it, and to type.
async fn receive_terminal(socket: &UnixStream) -> io::Result<(OwnedFd, InputEnd)> {
    let (_, fds) = timeout(HANDED, receive(socket, &mut [0])).await??;
    let terminal = fds.into_iter().next().ok_or(rustix::io::Errno::MFILE)?;
    let input = InputEnd::Terminal(terminal.try_clone()?);
    Ok((terminal, input))
}

/// As [`sys::receive`], and waits for the bytes.
async fn receive(socket: &UnixStream, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    loop {
        socket.readable().await?;
        let receive = || sys::receive(socket.as_fd(), buffer);
        match socket.try_io(Interest::READABLE, receive) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => return received,
        }
    }
}

/// Starts a command that is kept.
async fn spawn_kept(
    spawner: &Spawner,
    spawn: &Spawn<'_>,
    streams: Streams,
    reader: io::PipeReader,
    (input, terminal): (Option<OwnedFd>, Option<UnixStream>),
    kept: &Preparation,
) -> io::Result<Spawned> {
    let pipe = OwnedFd::from(reader);
    rustix::io::ioctl_fionbio(&pipe, true)?;
    let fds = kept.descriptors(pipe.as_fd(), input.as_ref(), spawn.layers)?;
    // Nothing may fail once the command runs.
    let spool = Arc::new(Spool::new(kept.spool.descriptor()?));
    // The output of a terminal is moved into the pipe here.
    let writer = terminal.as_ref().map(|_| streams.output.try_clone());
    let writer = writer.transpose()?;
    let (supervised, watch) = spawner.spawn(spawn, streams, Some(fds)).await?;
    let (input, line) = match terminal.zip(writer) {
        None => (input.map(InputEnd::Pipe), None),
        Some((handed, writer)) => {
            let (terminal, input) = receive_terminal(&handed).await?;
            let writer = writer.into();
            (Some(input), Some(Line { terminal, writer }))
        }
    };
    let output = Output::kept(Outlet::new(pipe, line), spool, watch.socket());
    Ok(Spawned {
        contained: Contained::Supervised(supervised),
        watch: Watch::Supervised(watch),
        output,
        input,
    })
}

impl Contained {
    /// Sends a signal to every process of the command. It is no error if none is left.
    ///
    /// SIGTERM also resumes stopped processes, which would not handle it otherwise. SIGKILL of a supervised command is repeated
    /// until no process is left.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self {
            Self::Group(group) => group.signal(signal),
            Self::Supervised(supervised) => supervised.signal(signal),
            Self::Past => Ok(()),
        }
    }

    /// Ends the standard input of a kept command, whose supervisor has the write end as well.
    pub(super) fn close_input(&self) {
        if let Self::Supervised(supervised) = self {
            supervised.close_input();
        }
    }

    /// Leaves a kept command to the next host.
    pub(super) fn leave(&self) {
        if let Self::Supervised(supervised) = self {
            supervised.leave();
        }
    }

    /// Allows the process id of the shell to be reused from now on. Its exit must be known and its output drained.
    pub(super) fn release(&self) {
        if let Self::Group(group) = self {
            group.reap();
        }
    }

    /// Returns whether no process is left. The answer may be `max_age` old.
    pub(super) fn is_empty(&self, max_age: Duration) -> bool {
        match self {
            Self::Group(group) => group.is_empty(max_age),
            Self::Supervised(supervised) => supervised.is_gone(),
            Self::Past => true,
        }
    }

    /// Returns whether a process can leave the containment unnoticed.
    pub(super) fn can_be_left(&self) -> bool {
        matches!(self, Self::Group(_))
    }

    /// Kills the supervisor of a command that should have ended and cannot, because the command stopped the supervisor. If
    /// `overdue`, also if the command keeps the supervisor from answering in another way.
    pub(super) fn kill_stalled_supervisor(&self, overdue: bool) {
        if let Self::Supervised(supervised) = self {
            supervised.kill_stalled_supervisor(overdue);
        }
    }

    /// Returns whether the kernel killed a process of the command for lack of memory, as far as that is known.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        match self {
            Self::Group(_) | Self::Past => false,
            Self::Supervised(supervised) => supervised.ran_out_of_memory(),
        }
    }

    /// Returns the process id of the spawner of a chat below which the command runs; `None` if it runs below none.
    pub(super) fn spawner_of_chat(&self) -> Option<i32> {
        match self {
            Self::Group(_) | Self::Past => None,
            Self::Supervised(supervised) => supervised.spawner_of_chat(),
        }
    }

    /// Returns the live processes of the command, at most `most`. Those that left a plain process group are not among them.
    pub(super) fn processes(&self, most: usize) -> Vec<i32> {
        let mut all = match self {
            Self::Group(group) => group.all(),
            Self::Supervised(supervised) => supervised.processes(most),
            Self::Past => Vec::new(),
        };
        all.truncate(most);
        all
    }

    /// Returns the live processes of the command besides the shell, at most [`MOST_SURVIVORS`]; `None` if they cannot be known.
    pub(super) fn survivors(&self) -> Option<Vec<Survivor>> {
        let members = match self {
            Self::Group(group) => group.members(),
            Self::Supervised(supervised) => supervised.members(MOST_SURVIVORS)?,
            Self::Past => Vec::new(),
        };
        let members = members.into_iter().take(MOST_SURVIVORS);
        Some(members.filter_map(survivors::survivor).collect())
    }
}

impl Watch {
    /// Waits for the next event: first the exit, then that no process is left. Cancel safe.
    pub(super) async fn next(&mut self, contained: &Contained) -> Event {
        match (self, contained) {
            (Self::Group(watch), Contained::Group(group)) => watch.next(group).await,
            (Self::Supervised(watch), Contained::Supervised(supervised)) => {
                watch.next(supervised).await
            }
            _ => Event::Lost("it is watched as something that it is not"),
        }
    }
}

/// Returns the containment of commands with this spawner, or without one.
pub(super) fn containment(spawner: Option<&Spawner>) -> Containment {
    spawner.map_or_else(
        || Containment {
            kind: Kind::ProcessGroup,
            reason: Some("no spawner was given, which takes the toolhost program".into()),
        },
        Spawner::containment,
    )
}

/// Returns why a command could not be started, and how to avoid that.
pub(super) fn explain(error: &io::Error, spawn: &Spawn<'_>, kind: Kind) -> String {
    if error.raw_os_error() != Some(nix::libc::E2BIG) {
        return error.to_string();
    }
    if kind == Kind::ProcessGroup && spawn.command.len() > MOST_IN_GROUP {
        return format!(
            "the command has {} bytes, the most without a supervisor is {MOST_IN_GROUP}: put it into a file and run that",
            spawn.command.len()
        );
    }
    let mut variables: Vec<_> = spawn
        .env
        .iter()
        .map(|(name, value)| (value.len(), name.to_string_lossy()))
        .collect();
    variables.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let largest: Vec<_> = variables
        .iter()
        .take(3)
        .map(|(size, name)| format!("{name} ({size} bytes)"))
        .collect();
    format!(
        "the environment is too large; the largest variables are {}",
        largest.join(", ")
    )
}

/// The longest command that a shell in a plain process group takes, in bytes.
const MOST_IN_GROUP: usize = 131_071;
