//! The system calls of containment that have no safe wrapper: forking, executing, and passing descriptors.
//!
//! Everything here but [`send`] runs in the spawner and its supervisors, which have one thread: a child of theirs may use
//! whatever its parent may.
#![allow(
    unsafe_code,
    reason = "fork, clone3 and received descriptors have no safe interface"
)]

use std::ffi::CString;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::unistd::Pid;

/// The flag of `clone3` that starts a child in another cgroup, which has one bit too many for the type that libc gave it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Which side of a fork this is.
pub(super) enum Side {
    Parent(Pid),
    Child,
}

/// Forks a process that has one thread; into a cgroup, if one is given, without the cost of moving there later.
pub(super) fn fork(cgroup: Option<BorrowedFd<'_>>) -> io::Result<Side> {
    let result = match cgroup {
        // SAFETY: there is one thread, so the child's memory is not in the middle of anything.
        None => i64::from(unsafe { libc::fork() }),
        Some(cgroup) => {
            // SAFETY: all zeroes is what the structure wants where nothing is asked for.
            let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
            arguments.flags = CLONE_INTO_CGROUP;
            arguments.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
            arguments.cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
            let size = size_of::<libc::clone_args>();
            // SAFETY: as for `fork`, of which this is a form: no memory is shared and no stack is given. What the C library
            // does on top of it is not done, and the child does nothing but system calls before it executes.
            unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) }
        }
    };
    match i32::try_from(result) {
        Ok(0) => Ok(Side::Child),
        Ok(pid) if pid > 0 => Ok(Side::Parent(Pid::from_raw(pid))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs this in a child that shares the memory of this process, which sleeps until the child executes or ends. Returns the
/// child, which may have ended.
///
/// Nothing is copied, which is most of what a fork costs. `become_other` returns only if it could not execute.
pub(super) fn fork_shared(mut become_other: impl FnMut()) -> io::Result<Pid> {
    extern "C" fn run<F: FnMut()>(function: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is the closure below, which lives until the child is done with it, and which nobody else uses meanwhile.
        let become_other = unsafe { &mut *function.cast::<F>() };
        become_other();
        127
    }
    fn start<F: FnMut()>(function: &mut F) -> libc::c_int {
        /// Enough for a few system calls, and a round number.
        const STACK: usize = 64 << 10;
        let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child has a stack of its own, which grows down from its end, and which lives until the child has executed
        // or ended, as this thread, the only one, sleeps until then.
        unsafe {
            let top = stack.as_mut_ptr().add(stack.capacity());
            libc::clone(run::<F>, top.cast(), flags, (&raw mut *function).cast())
        }
    }
    Ok(Pid::from_raw(Errno::result(start(&mut become_other))?))
}

/// Ends this process at once: nothing of what its parent prepared for its own end is done.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Lets every signal do what it does in a new process, and blocks these.
///
/// Handlers do not survive an exec, but ignored signals do: the Rust runtime ignores SIGPIPE, and who starts the host may
/// have ignored SIGHUP.
pub(super) fn default_signals(mask: &SigSet) -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action is no code of ours. Of those that cannot be set, such as SIGKILL, nothing is changed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None)?)
}

/// Makes a descriptor available under another number, which an exec does not close.
pub(super) fn duplicate(from: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    if from.as_raw_fd() == to {
        // SAFETY: it changes one flag of a descriptor that is open.
        Errno::result(unsafe { libc::fcntl(to, libc::F_SETFD, 0) })?;
        return Ok(());
    }
    // SAFETY: who calls this decides what every number stands for, in a process of one thread that is about to execute.
    Errno::result(unsafe { libc::dup2(from.as_raw_fd(), to) })?;
    Ok(())
}

/// Has an exec close every descriptor from this number on.
pub(super) fn close_on_exec_from(first: u32) -> io::Result<()> {
    close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

/// Closes every descriptor from 3 on but those that are kept.
pub(super) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<u32> = keep.iter().map(|fd| fd.unsigned_abs()).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep {
        if fd > first {
            close_range(first, fd - 1, 0)?;
        }
        first = first.max(fd + 1);
    }
    close_range(first, u32::MAX, 0)
}

fn close_range(first: u32, last: u32, flags: u32) -> io::Result<()> {
    // SAFETY: who calls this holds no owner of a descriptor in this range that it will use again.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    Errno::result(result)?;
    Ok(())
}

/// Becomes another program. Returns only if that fails.
pub(super) fn execute(program: &CString, arguments: &[CString], environment: &[CString]) -> Errno {
    match nix::unistd::execve(program, arguments, environment) {
        Ok(infallible) => match infallible {},
        Err(errno) => errno,
    }
}

/// The most descriptors of one message.
const MOST_DESCRIPTORS: usize = 8;

/// Sends bytes with descriptors attached, all at once.
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

/// Receives up to `buffer` bytes and what is attached to them. No bytes: the other side is gone.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = nix::cmsg_space!([RawFd; MOST_DESCRIPTORS]);
    let mut iov = [IoSliceMut::new(buffer)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut space), flags)?;
    let mut fds = Vec::new();
    for attached in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = attached {
            // SAFETY: the kernel just made these descriptors for this process, and nobody else knows of them.
            fds.extend(
                raw.into_iter()
                    .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }),
            );
        }
    }
    Ok((message.bytes, fds))
}
