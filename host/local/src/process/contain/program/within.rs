//! The spawner of a chat: the first process in the namespaces of the chat, which starts the chat's commands there.
//!
//! It ends in the same way as the spawner of the host, and at the latest with it. When it ends, the kernel kills all other processes in
//! its PID namespace.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getegid, geteuid};
use rustix::thread::UnshareFlags;
use toolhost_sandbox::View;

use super::Spawner;
use super::command_limits::CommandLimits;
use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::Frame;
use toolhost_state::own_limits::OwnLimits;

/// The limits of a spawner, and those of its commands.
type Limits<'a> = (&'a OwnLimits, CommandLimits);

/// Starts the spawner of a chat with the descriptors of [`Frame::Enter`]. Returns its process id. If it cannot be started, reports that to
/// the host and returns `None`.
pub(super) fn start(fds: Vec<OwnedFd>, limits: Limits<'_>, keeps: bool) -> Option<Pid> {
    let mut fds = fds.into_iter();
    let socket = fds.next()?;
    let started = match fds.next() {
        Some(view) => fork(&socket, view, fds.next(), limits, keeps),
        None => Err(Errno::EMFILE.into()),
    };
    let started = started.inspect_err(|error| refuse(&socket, error, &error.to_string()));
    started.ok()
}

/// Forks the spawner of a chat. With a socket `joining`, sends the namespaces over it.
fn fork(
    socket: &OwnedFd,
    view: OwnedFd,
    joining: Option<OwnedFd>,
    limits: Limits<'_>,
    keeps: bool,
) -> io::Result<Pid> {
    let mut bytes = Vec::new();
    File::from(view).read_to_end(&mut bytes)?;
    let view = View::decode(&bytes)?;
    let (mut ours, theirs) = UnixStream::pair()?;
    let (_, of_commands) = limits;
    match of_commands.bounding(|| sys::fork_into(view.namespaces()))? {
        Side::Child => {
            drop(ours);
            run(socket, &view, theirs, limits, keeps)
        }
        Side::Parent(pid) => {
            drop(theirs);
            let mapped = ours.read_exact(&mut [0]).and_then(|()| map_users(pid));
            let prepared = mapped.and_then(|()| match joining {
                Some(joining) => send_namespaces(&joining, pid, view.namespaces()),
                None => Ok(()),
            });
            if let Err(error) = prepared {
                // The loop of the spawner reaps the process.
                _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
                return Err(error);
            }
            let spawner = pid.as_raw();
            _ = sys::send(socket.as_fd(), &Frame::Entered { spawner }.encode(), &[]);
            _ = ours.write_all(&[0]);
            Ok(pid)
        }
    }
}

/// Runs in the new namespaces, whose commands are kept if `keeps` is set, until the host and all supervisors are gone.
fn run(socket: &OwnedFd, view: &View, parent: UnixStream, limits: Limits<'_>, keeps: bool) -> ! {
    let spawner = match begin(socket, view, parent) {
        Ok(()) => socket.try_clone().and_then(|own| {
            // Close the descriptors of the host's spawner directly. Their owners still exist, but this process never uses them again.
            sys::close_all_but(&[own.as_raw_fd()])?;
            // There may be thousands of chats in which nothing happens.
            let (limits, of_commands) = limits;
            let spawner = Spawner::new(own, (limits.clone(), of_commands), 0)?;
            Ok(Spawner { keeps, ..spawner })
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

/// Enters the view. If that fails, reports the error to the host.
fn begin(socket: &OwnedFd, view: &View, mut parent: UnixStream) -> Result<(), ()> {
    let begun = (|| {
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        // Without this, the file in which the parent maps the users would belong to root.
        nix::sys::prctl::set_dumpable(true)?;
        parent.write_all(&[0])?;
        parent.read_exact(&mut [0])?;
        nix::sys::prctl::set_dumpable(false)?;
        _ = nix::unistd::setsid();
        Ok::<_, io::Error>(())
    })();
    begun.map_err(|error| refuse(socket, &error, &error.to_string()))?;
    let entered = view
        .enter()
        .map_err(|error| refuse(socket, &error.error, &error.to_string()))?;
    let found = entered.descriptors().map(|found| found.as_raw_fd());
    let found: Vec<_> = found.collect();
    let sent = sys::send(socket.as_fd(), &Frame::Ready.encode(), &found);
    sent.map_err(|error| {
        let why = format!("cannot send the descriptors of the namespaces: {error}");
        refuse(socket, &error, &why);
    })
}

fn refuse(socket: &OwnedFd, error: &io::Error, why: &str) {
    let errno = error.raw_os_error().unwrap_or(Errno::EIO as i32);
    let frame = Frame::Failed { errno }.encode();
    _ = sys::send(socket.as_fd(), &[&frame, why.as_bytes()].concat(), &[]);
}

/// Sends descriptors of these namespaces of a process over a socket. Only while the process is dumpable, a user who is not root may open
/// them.
fn send_namespaces(socket: &OwnedFd, pid: Pid, namespaces: UnshareFlags) -> io::Result<()> {
    // The user namespace comes first: it gives the right to join the others.
    let names = [
        ("user", UnshareFlags::NEWUSER),
        ("mnt", UnshareFlags::NEWNS),
        ("pid", UnshareFlags::NEWPID),
        ("ipc", UnshareFlags::NEWIPC),
        ("net", UnshareFlags::NEWNET),
    ];
    let has = names
        .iter()
        .filter(|(_, namespace)| namespaces.contains(*namespace));
    let open = |(name, _): &(&str, UnshareFlags)| File::open(format!("/proc/{pid}/ns/{name}"));
    let files = has.map(open).collect::<io::Result<Vec<_>>>()?;
    let descriptors: Vec<_> = files.iter().map(File::as_raw_fd).collect();
    sys::send(socket.as_fd(), &[0], &descriptors)
}

/// Maps users and groups in the namespace of a process to themselves. As root, maps all; otherwise, only those of this process.
fn map_users(pid: Pid) -> io::Result<()> {
    if geteuid().is_root() && map_all(pid).is_ok() {
        return Ok(());
    }
    // Without privilege, the kernel allows mapping groups only if the processes cannot drop any.
    write(pid, "setgroups", "deny")?;
    write(pid, "uid_map", &format!("{0} {0} 1", geteuid()))?;
    write(pid, "gid_map", &format!("{0} {0} 1", getegid()))
}

fn map_all(pid: Pid) -> io::Result<()> {
    for name in ["uid_map", "gid_map"] {
        let own = fs::read_to_string(format!("/proc/self/{name}"))?;
        let same = own.lines().filter_map(|line| {
            let mut numbers = line.split_ascii_whitespace();
            let (first, count) = (numbers.next()?, numbers.nth(1)?);
            Some(format!("{first} {first} {count}\n"))
        });
        write(pid, name, &same.collect::<String>())?;
    }
    Ok(())
}

fn write(pid: Pid, name: &str, text: &str) -> io::Result<()> {
    // Write everything at once, because the kernel accepts only one write.
    let mut file = File::options()
        .write(true)
        .open(format!("/proc/{pid}/{name}"))?;
    file.write_all(text.as_bytes())
}
