//! The spawner of a chat: the first process in the namespaces of the chat, which starts the chat's commands there.
//!
//! It ends in the same way as the spawner of the host, and at the latest with it. When it ends, the kernel kills all other processes in
//! its PID namespace.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use rustix::thread::UnshareFlags;
use toolhost_sandbox::View;

use super::command_limits::CommandLimits;
use super::namespaces::{self, refuse};
use super::{Spawner, spare};
use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::Frame;
use toolhost_state::own_limits::OwnLimits;

/// The limits of a spawner, and those of its commands.
type Limits<'a> = (&'a OwnLimits, CommandLimits);

/// The descriptors of [`Frame::Enter`].
pub(super) struct Enter {
    /// The socket of the spawner of the chat.
    socket: OwnedFd,
    view: OwnedFd,
    /// The namespaces of the layers, of which those of the chat are copies.
    layers: Vec<OwnedFd>,
    /// The socket on which others get the namespaces.
    joining: Option<OwnedFd>,
}

impl Enter {
    /// `None` without a socket, so that nobody can be told. If others are missing, the host hears of that.
    pub(super) fn from_descriptors(
        fds: Vec<OwnedFd>,
        layered: bool,
        lets_join: bool,
    ) -> Option<Self> {
        let mut fds = fds.into_iter();
        let socket = fds.next()?;
        let view = fds.next();
        let layers: Vec<_> = fds.by_ref().take(if layered { 2 } else { 0 }).collect();
        let joining = fds.next();
        let is_whole = layers.is_empty() != layered && joining.is_some() == lets_join;
        match view.filter(|_| is_whole) {
            Some(view) => Some(Self {
                socket,
                view,
                layers,
                joining,
            }),
            None => {
                let error = io::Error::from(Errno::EMFILE);
                refuse(&socket, &error, &error.to_string());
                None
            }
        }
    }

    /// Starts the spawner of a chat, whose commands are kept if `keeps` is set. Returns its process id. If it cannot be started, reports that
    /// to the host and returns `None`.
    pub(super) fn start(self, limits: Limits<'_>, keeps: bool) -> Option<Pid> {
        let started = self.view().and_then(|view| match self.layers.is_empty() {
            true => self.fork(&view, sys::fork_into, limits, keeps).map(Some),
            false => self.fork_from_layers(&view, limits, keeps),
        });
        started.inspect_err(|error| self.refuse(error)).ok()?
    }

    fn view(&self) -> io::Result<View> {
        let mut bytes = Vec::new();
        File::from(self.view.try_clone()?).read_to_end(&mut bytes)?;
        View::decode(&bytes)
    }

    /// Forks the spawner of a chat into namespaces of its own.
    fn fork(
        &self,
        view: &View,
        fork: impl FnOnce(UnshareFlags) -> io::Result<Side>,
        limits: Limits<'_>,
        keeps: bool,
    ) -> io::Result<Pid> {
        let (ours, theirs) = UnixStream::pair()?;
        let (_, of_commands) = limits;
        match of_commands.bounding(|| fork(view.namespaces()))? {
            Side::Child => {
                drop(ours);
                self.run(view, theirs, limits, keeps)
            }
            Side::Parent(pid) => {
                drop(theirs);
                namespaces::map_users_of(pid, ours, || {
                    if let Some(joining) = &self.joining {
                        let opened = namespaces::open(Some(pid), view.namespaces())?;
                        namespaces::send(joining, &[0], &opened)?;
                    }
                    let spawner = pid.as_raw();
                    _ = sys::send(
                        self.socket.as_fd(),
                        &Frame::Entered { spawner }.encode(),
                        &[],
                    );
                    Ok(())
                })?;
                Ok(pid)
            }
        }
    }

    /// As [`Enter::fork`], from the namespaces of the layers. This process cannot join them and come back, so another one does, and makes the
    /// spawner of the chat a child of this process. `None`: it has told the host why it cannot.
    fn fork_from_layers(
        &self,
        view: &View,
        limits: Limits<'_>,
        keeps: bool,
    ) -> io::Result<Option<Pid>> {
        let (mut result, mut theirs) = io::pipe()?;
        let Side::Parent(between) = sys::fork(None)? else {
            drop(result);
            let joined = sys::move_into(&self.layers);
            let forked =
                joined.and_then(|()| self.fork(view, sys::fork_beside_into, limits, keeps));
            let told = match forked {
                Ok(pid) => theirs.write_all(&pid.as_raw().to_ne_bytes()),
                Err(error) => Err(error).inspect_err(|error| self.refuse(error)),
            };
            sys::exit(told.is_err().into())
        };
        drop(theirs);
        let mut pid = [0; size_of::<i32>()];
        let forked = result.read_exact(&mut pid);
        _ = waitpid(between, None);
        Ok(forked
            .is_ok()
            .then(|| Pid::from_raw(i32::from_ne_bytes(pid))))
    }

    /// Runs in the new namespaces until the host and all supervisors are gone.
    fn run(&self, view: &View, parent: UnixStream, limits: Limits<'_>, keeps: bool) -> ! {
        let spawner = match self.begin(view, parent, limits) {
            Ok(first) => self.socket.try_clone().and_then(|own| {
                // Close the descriptors of the host's spawner directly. Their owners still exist, but this process never uses them again.
                sys::close_all_but(&[own.as_raw_fd()])?;
                let (limits, of_commands) = limits;
                let spawner = Spawner::new(own, (limits.clone(), of_commands), first)?;
                Ok(Spawner {
                    keeps,
                    is_of_chat: true,
                    ..spawner
                })
            }),
            Err(()) => sys::exit(1),
        };
        match spawner {
            Ok(mut spawner) => {
                spawner.work();
                sys::exit(0)
            }
            Err(_) => sys::exit(1),
        }
    }

    /// Enters the view, and forks the supervisor of the command for which the host makes it. Returns its process id. If the view cannot be
    /// entered, reports the error to the host.
    fn begin(
        &self,
        view: &View,
        parent: UnixStream,
        (limits, of_commands): Limits<'_>,
    ) -> Result<Option<Pid>, ()> {
        namespaces::wait_for_users(parent).map_err(|error| self.refuse(&error))?;
        _ = nix::unistd::setsid();
        let entered = view
            .enter()
            .map_err(|error| refuse(&self.socket, &error.error, &error.to_string()))?;
        // Without it, the first command asks for one, and learns why there is none.
        let first = spare::fork(limits, of_commands, true).ok();
        let commands = first.iter().map(|(_, commands)| commands.as_fd());
        let found: Vec<_> = entered.descriptors().chain(commands).collect();
        let sent = namespaces::send(&self.socket, &Frame::Ready.encode(), &found);
        sent.map_err(|error| {
            let why = format!("cannot send the descriptors of the namespaces: {error}");
            refuse(&self.socket, &error, &why);
        })?;
        Ok(first.map(|(pid, _)| pid))
    }

    fn refuse(&self, error: &io::Error) {
        refuse(&self.socket, error, &error.to_string());
    }
}
