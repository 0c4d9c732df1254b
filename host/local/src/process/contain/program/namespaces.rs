//! Making user namespaces, and handing them to others.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getegid, geteuid};
use rustix::thread::UnshareFlags;

use crate::process::contain::sys;
use crate::process::contain::wire::Frame;

/// Waits until the parent has mapped the users of the new user namespace of this process. The process ends with its parent.
pub(super) fn wait_for_users(mut parent: UnixStream) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Without this, the file in which the parent maps the users would belong to root.
    nix::sys::prctl::set_dumpable(true)?;
    parent.write_all(&[0])?;
    parent.read_exact(&mut [0])?;
    nix::sys::prctl::set_dumpable(false)?;
    Ok(())
}

/// Maps the users in the namespace of a process that waits for that, and has it go on after `then`. If that fails, the process is killed.
pub(super) fn map_users_of(
    pid: Pid,
    mut waiting: UnixStream,
    then: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mapped = waiting.read_exact(&mut [0]).and_then(|()| map_users(pid));
    let done = mapped
        .and_then(|()| then())
        .and_then(|()| waiting.write_all(&[0]));
    done.inspect_err(|_| {
        // The loop of the spawner reaps the process.
        _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
    })
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

/// Opens these namespaces of a process; `None`: of this one. The user namespace comes first: it gives the right to join the others. Only
/// while a process is dumpable, a user who is not root may open them.
pub(super) fn open(pid: Option<Pid>, namespaces: UnshareFlags) -> io::Result<Vec<OwnedFd>> {
    let names = [
        ("user", UnshareFlags::NEWUSER),
        ("mnt", UnshareFlags::NEWNS),
        ("pid", UnshareFlags::NEWPID),
        ("ipc", UnshareFlags::NEWIPC),
        ("net", UnshareFlags::NEWNET),
    ];
    let process = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let has = names
        .iter()
        .filter(|(_, namespace)| namespaces.contains(*namespace));
    let open = |(name, _): &(&str, UnshareFlags)| {
        let file = File::open(format!("/proc/{process}/ns/{name}"))?;
        Ok(file.into())
    };
    has.map(open).collect()
}

/// Sends descriptors to the host, with a message.
pub(super) fn send(socket: &OwnedFd, message: &[u8], descriptors: &[impl AsFd]) -> io::Result<()> {
    let raw = descriptors.iter().map(|found| found.as_fd().as_raw_fd());
    sys::send(socket.as_fd(), message, &raw.collect::<Vec<_>>())
}

/// Tells the host why a process could not do what it was started for.
pub(super) fn refuse(socket: &OwnedFd, error: &io::Error, why: &str) {
    let errno = error.raw_os_error().unwrap_or(Errno::EIO as i32);
    let frame = Frame::Failed { errno }.encode();
    _ = sys::send(socket.as_fd(), &[&frame, why.as_bytes()].concat(), &[]);
}
