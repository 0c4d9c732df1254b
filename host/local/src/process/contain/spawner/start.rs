//! Starting a command: a spare supervisor gets it, or the spawner forks one for it.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::time::timeout;
use toolhost_sandbox::Sandbox;
use toolhost_workspace::process::Stdin;

use super::{PATIENCE, Spawner, has_ended};
use crate::process::contain::cgroup::Leaf;
use crate::process::contain::kept::Descriptors;
use crate::process::contain::spares::{Origin, Spare, watched};
use crate::process::contain::supervised::{self, Supervised};
use crate::process::contain::values::{Spawn, Streams};
use crate::process::contain::wire::{FRAME, Frame, Request};
use crate::process::contain::{receive, sys};
use crate::process::shortage;

/// A supervisor that has a command.
struct Passed {
    control: UnixStream,
    origin: Arc<Origin>,
    /// The supervisor itself, if it can have another command afterwards.
    spare: Option<Spare>,
}

/// The descriptors that a supervisor gets for a command.
struct Attached {
    request: OwnedFd,
    streams: Streams,
    leaf: Option<Leaf>,
    sandbox: Arc<Sandbox>,
    kept: Option<Descriptors>,
}

impl Attached {
    fn frame(&self) -> Frame {
        Frame::Start {
            cgroup: self.leaf.is_some(),
            ruleset: self.sandbox.descriptors().next().is_some(),
            kept: self.kept.is_some(),
            fed: self.kept.as_ref().is_some_and(|kept| kept.input.is_some()),
            layered: self.kept.as_ref().is_some_and(|kept| kept.layers.is_some()),
        }
    }

    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let Streams { output, stdin } = &self.streams;
        let fixed = [self.request.as_fd(), output.as_fd(), stdin.as_fd()];
        let leaf = self.leaf.as_ref().map(AsFd::as_fd);
        let kept = self.kept.iter().flat_map(Descriptors::all);
        let kept = kept.map(AsFd::as_fd);
        fixed
            .into_iter()
            .chain(leaf)
            .chain(self.sandbox.descriptors())
            .chain(kept)
    }

    /// Returns all descriptors of the message, in their order: the socket of the command is the first one.
    fn with<'a>(&'a self, control: &'a impl AsFd) -> Vec<BorrowedFd<'a>> {
        let control = std::iter::once(control.as_fd());
        control.chain(self.descriptors()).collect()
    }
}

impl Spawner {
    /// Starts a command and waits until its shell has executed, or could not. The caller must be within a tokio runtime. If the future
    /// is dropped, the command is ended.
    pub(in crate::process::contain) async fn spawn(
        &self,
        spawn: &Spawn<'_>,
        streams: Streams,
        kept: Option<Descriptors>,
    ) -> io::Result<(Supervised, supervised::Watch)> {
        let attached = Attached {
            request: sys::in_memory(&request(spawn)?.encode())?,
            streams,
            leaf: self.leaf()?,
            sandbox: Arc::clone(spawn.sandbox),
            kept,
        };
        let is_of_chat = self.inner.program.is_none();
        let (passed, attached) = match self.pass(&attached)? {
            Some(passed) => (passed, attached),
            None => self.ask_and_wait(attached).await?,
        };
        let leaf = attached.leaf;
        // Otherwise the output would not end before this process does.
        drop((attached.request, attached.streams, attached.kept));
        let Passed {
            control,
            origin,
            spare,
        } = passed;
        let socket = Arc::new(control);
        let lent = spare.map(|spare| self.inner.spares.lend(spare));
        let spawner = origin.pid.cast_signed();
        let supervised = Supervised::new(Arc::clone(&socket), spawner, is_of_chat, leaf, lent);
        let mut watch = supervised::Watch::new(socket, origin.ended.clone());
        // Without an answer, either the supervisor was killed, perhaps by the command before the answer was sent; or a file system
        // hangs, and the shell may start yet. So the command counts as started: its watch reports the rest.
        if let Ok(started) = timeout(PATIENCE, watch.started(&supervised)).await {
            started?;
        }
        Ok((supervised, watch))
    }

    /// Passes a command to a spare supervisor; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the kernel does not take the message. No supervisor has the command then.
    fn pass(&self, attached: &Attached) -> io::Result<Option<Passed>> {
        while let Some(spare) = self.inner.spares.take() {
            let (control, theirs) = std::os::unix::net::UnixStream::pair()?;
            let control = watched(control.into())?;
            match spare.send(attached.frame(), &attached.with(&theirs)) {
                Ok(()) => {
                    return Ok(Some(Passed {
                        control,
                        origin: Arc::clone(&spare.origin),
                        spare: Some(spare),
                    }));
                }
                // The supervisor has ended, and has not begun with the command.
                Err(error) if has_ended(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Asks the spawner for a supervisor, and waits until it accepts.
    async fn ask_and_wait(&self, attached: Attached) -> io::Result<(Passed, Attached)> {
        let (accepted, attached) = self.ask(attached).await?;
        match accepted {
            Ok(passed) => Ok((passed, attached)),
            // Ask the spawner that replaced the failed one.
            Err(_) => {
                let (accepted, attached) = self.ask(attached).await?;
                Ok((accepted?, attached))
            }
        }
    }

    /// Asks for a supervisor, and waits until the spawner accepts. The inner error says why a spawner failed, which is then
    /// replaced.
    async fn ask(&self, attached: Attached) -> io::Result<(io::Result<Passed>, Attached)> {
        let (control, theirs) = std::os::unix::net::UnixStream::pair()?;
        // Nothing may fail once the command runs.
        let control = watched(control.into())?;
        // On a thread for blocking work, because the spawner can be busy.
        let spawner = self.clone();
        let sending = move || {
            let sent = spawner.send(attached.frame(), &attached.with(&theirs))?;
            Ok::<_, io::Error>((sent, attached))
        };
        let sent = tokio::task::spawn_blocking(sending).await;
        let (origin, attached) = sent.map_err(io::Error::other)??;
        let failed = match timeout(PATIENCE, accepted(&control)).await {
            Ok(Ok(commands)) => {
                let passed = Passed {
                    control,
                    spare: commands.map(|commands| Spare::new(commands, &origin)),
                    origin,
                };
                return Ok((Ok(passed), attached));
            }
            Ok(Err(error)) => error,
            Err(_) => io::Error::other("no answer in 10 s"),
        };
        // A command of the same user can freeze the spawner, or take its descriptors.
        let why = format!("does not work ({failed}): another is started beside it");
        let this = self.clone();
        let replacing = move || this.replace(origin.pid, &why, false);
        let replaced = tokio::task::spawn_blocking(replacing).await;
        replaced.map_err(io::Error::other)??;
        Ok((Err(failed), attached))
    }

    /// Makes the cgroup of a command, if commands have cgroups. Without it, the supervisor contains the command alone, for which a shortage is
    /// no reason.
    fn leaf(&self) -> io::Result<Option<Leaf>> {
        let Ok(parent) = &*self.inner.cgroup else {
            return Ok(None);
        };
        match parent.leaf() {
            Ok(leaf) => Ok(Some(leaf)),
            Err(error) if shortage::shortage(&error).is_some() => Err(error),
            Err(error) => {
                tracing::warn!(%error, "no cgroup for a command: its supervisor contains it alone");
                Ok(None)
            }
        }
    }
}

/// Waits until the spawner accepts a start. Returns the socket on which the supervisor gets further commands, if it is to have some.
async fn accepted(control: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut frame = [0; FRAME];
    let (count, fds) = receive(control, &mut frame).await?;
    if count != FRAME {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match Frame::decode(frame)? {
        Frame::Accepted => Ok(fds.into_iter().next()),
        Frame::Failed { errno } => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::other("the spawner answered something else")),
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
        terminal: match spawn.stdin {
            Stdin::Terminal(size) => Some(*size),
            Stdin::None | Stdin::Bytes(_) | Stdin::Pipe => None,
        },
        kept: spawn.kept.map(|kept| kept.terms),
        sandbox: spawn.sandbox.encode(),
    })
}
