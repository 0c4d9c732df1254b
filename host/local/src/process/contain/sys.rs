//! The system calls of containment that have no safe wrapper: forking, duplicating and passing descriptors.
//!
//! Everything here but [`send`] and [`in_memory`] runs in the spawner and its supervisors, which have one thread. So a forked
//! child may use everything that its parent may use.
#![allow(
    unsafe_code,
    reason = "fork, clone3 and what a fork leaves behind have no safe interface"
)]

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::cmsg_space;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::thread::{UnshareFlags, move_into_link_name_space};

/// The flag of `clone3` that starts a child in another cgroup. It does not fit into the type that libc gave it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Which side of a fork this is.
pub(super) enum Side {
    Parent(Pid),
    Child,
}

/// Forks this process, which must have one thread. If a cgroup is given, the child starts in it, which is cheaper than moving.
pub(super) fn fork(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Side> {
    match cgroup {
        // SAFETY: there is one thread, so the child's memory is not in the middle of anything.
        None => side(i64::from(unsafe { libc::fork() })),
        Some(cgroup) => {
            let cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
            clone(CLONE_INTO_CGROUP, cgroup)
        }
    }
}

/// Forks this process, which must have one thread, into new namespaces: the new process is the first one in them.
pub(super) fn fork_into(namespaces: UnshareFlags) -> io::Result<Side> {
    clone(namespaces.bits().into(), 0)
}

/// As [`fork_into`], for a process that becomes a child of the parent of this one.
pub(super) fn fork_beside_into(namespaces: UnshareFlags) -> io::Result<Side> {
    let parent = u64::from(libc::CLONE_PARENT.unsigned_abs());
    clone(u64::from(namespaces.bits()) | parent, 0)
}

/// Moves this process, which must have one thread, into namespaces.
pub(super) fn move_into(namespaces: &[OwnedFd]) -> io::Result<()> {
    for namespace in namespaces {
        move_into_link_name_space(namespace.as_fd(), None)?;
    }
    Ok(())
}

/// The size of the stack of a child that shares the memory of its parent, in bytes.
const STACK: usize = 256 << 10;

/// Starts a child that shares the memory of this process until it executes, or exits with the code that `child` returns. This process,
/// which must have one thread, waits for that. A fork would copy the page tables first, which takes longer than all that the child does
/// before its exec.
pub(super) fn fork_sharing<F: FnOnce() -> i32>(child: F) -> io::Result<Pid> {
    extern "C" fn run<F: FnOnce() -> i32>(child: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it points to the option below, and the parent waits while this runs.
        let child = unsafe { &mut *child.cast::<Option<F>>() };
        exit(child.take().map_or(1, |child| child()))
    }
    let mut child = Some(child);
    let mut stack = Vec::<u8>::with_capacity(STACK);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child has a stack of its own, which ends on a boundary of 16 bytes and exists until this returns. With CLONE_VFORK,
    // `clone` returns when the child has executed or exited, so that the child alone uses the memory until then. `run` never returns.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(STACK);
        let top = top.sub(top.addr() % 16);
        libc::clone(run::<F>, top.cast(), flags, (&raw mut child).cast())
    };
    match pid {
        1.. => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A fork with these flags. It skips the additional work of the C library's `fork`.
fn clone(flags: u64, cgroup: u64) -> io::Result<Side> {
    // SAFETY: the structure may be all zeroes, which asks for nothing.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = flags;
    // Beside this process, the new one ends with the same signal as this.
    if flags & u64::from(libc::CLONE_PARENT.unsigned_abs()) == 0 {
        arguments.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
    }
    arguments.cgroup = cgroup;
    let size = size_of::<libc::clone_args>();
    // SAFETY: this is a form of `fork`: no memory is shared and no stack is given. There is one thread, and the child uses nothing
    // that depends on its number, which the C library may have kept.
    side(unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) })
}

fn side(result: i64) -> io::Result<Side> {
    match i32::try_from(result) {
        Ok(0) => Ok(Side::Child),
        Ok(pid) if pid > 0 => Ok(Side::Parent(Pid::from_raw(pid))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the child of a command do this before it executes.
pub(super) fn before_exec(
    command: &mut Command,
    work: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the child is a fork of a process with several threads, so it must not wait for a lock that another of them held. The
    // callers pass system calls, and paths that they made before.
    unsafe { command.pre_exec(work) };
}

/// Goes on as a child in these namespaces. This process, which becomes its parent, waits for it and ends as it does.
pub(super) fn join(namespaces: &[OwnedFd]) -> io::Result<()> {
    move_into(namespaces)?;
    let Side::Parent(child) = fork(None)? else {
        return Ok(());
    };
    // The terminal sends its signals to the child as well.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: to ignore a signal is no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // Among the descriptors is one whose end says that the command was executed.
    for standard in 0..3 {
        // SAFETY: this process, which only waits from here on, uses no descriptor.
        unsafe { libc::close(standard) };
    }
    _ = close_range(3, u32::MAX);
    loop {
        match waitpid(child, None) {
            Err(Errno::EINTR) => {}
            Ok(WaitStatus::Exited(_, code)) => exit(code),
            Ok(WaitStatus::Signaled(_, signal, _)) => exit(128 + signal as i32),
            Ok(_) => {}
            Err(_) => exit(1),
        }
    }
}

/// Ends this process at once, without running any exit handlers that its parent registered.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Resets every signal to its default action, and blocks the signals in `mask`.
///
/// Handlers do not survive an exec, but ignored signals do: the Rust runtime ignores SIGPIPE, and the program that starts the
/// host may have ignored SIGHUP.
pub(super) fn default_signals(mask: &SigSet) -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action is no code of ours. For signals that cannot be set, such as SIGKILL, nothing changes.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None)?)
}

/// Duplicates a descriptor to another number, which an exec does not close.
pub(super) fn duplicate(from: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    if from.as_raw_fd() == to {
        // SAFETY: it changes one flag of a descriptor that is open.
        Errno::result(unsafe { libc::fcntl(to, libc::F_SETFD, 0) })?;
        return Ok(());
    }
    // SAFETY: the caller decides what every number stands for, in a process of one thread that is about to execute.
    Errno::result(unsafe { libc::dup2(from.as_raw_fd(), to) })?;
    Ok(())
}

/// Closes every descriptor from 3 on except those in `keep`.
pub(super) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<u32> = keep.iter().map(|fd| fd.unsigned_abs()).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep {
        if fd > first {
            close_range(first, fd - 1)?;
        }
        first = first.max(fd + 1);
    }
    close_range(first, u32::MAX)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: the caller holds no owner of a descriptor in this range that it will use again.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    Errno::result(result)?;
    Ok(())
}

/// Writes bytes into an unnamed file in memory, to be read from its start.
pub(super) fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(c"toolhost", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// The most descriptors in one message.
const MOST_DESCRIPTORS: usize = 14;

/// Sends bytes with descriptors attached, all in one message.
pub(super) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    let attached = [ControlMessage::ScmRights(fds)];
    let attached = if fds.is_empty() { &[] } else { &attached[..] };
    let iov = [IoSlice::new(bytes)];
    let flags = MsgFlags::MSG_NOSIGNAL;
    match sendmsg::<()>(socket.as_raw_fd(), &iov, attached, flags, None)? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives at most `buffer.len()` bytes and the descriptors attached to them, as far as this process may have more
/// descriptors. 0 bytes mean that the other side is gone.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, buffer, RecvFlags::DONTWAIT)
}

/// As [`receive`], and waits for the bytes for as long as the socket does.
pub(super) fn receive_waiting(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, buffer, RecvFlags::WAITALL)
}

fn receive_with(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | flags;
    let message = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut attached, flags)?;
    let mut fds = Vec::new();
    for one in attached.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = one {
            fds.extend(rights);
        }
    }
    Ok((message.bytes, fds))
}

/// Returns whether the other side of a socket is gone and all its bytes were read.
pub(super) fn is_closed(socket: BorrowedFd<'_>) -> bool {
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    nix::sys::socket::recv(socket.as_raw_fd(), &mut [0], flags) == Ok(0)
}
