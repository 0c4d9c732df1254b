//! Starting the shell of a command, below its supervisor.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use crate::process::contain::sys::{self, Side};
use crate::process::contain::wire::Request;

/// The longest command that can be an argument, in bytes: Linux takes 131,072 in one, with its final NUL.
const MOST_IN_ARGUMENT: usize = 131_071;

/// The descriptor by which a shell reads a command that is too long for an argument. The shells at hand use numbers from 10
/// on for themselves, and a command hardly ever uses this one.
const SCRIPT: RawFd = 9;

/// Closes [`SCRIPT`] in the shell, which has opened the script under another number by then.
const CLOSE_SCRIPT: &[u8] = b"exec 9<&-; ";

/// Everything that an exec takes, made before the fork.
struct Prepared {
    request: Request,
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    workdir: CString,
    script: Option<File>,
}

/// Starts the shell of a request and returns once it has executed, or could not.
pub(super) fn start(
    request: OwnedFd,
    output: &OwnedFd,
    stdin: &OwnedFd,
    cgroup: Option<&OwnedFd>,
) -> io::Result<Pid> {
    let prepared = Prepared::read(request)?;
    let (mut failure, failing) = io::pipe()?;
    // Out of the way of the numbers that the child gives out. The first one is closed, or the pipe would never end.
    let failing = {
        let low = failing;
        rustix::io::fcntl_dupfd_cloexec(&low, SCRIPT + 1)?
    };
    // A cgroup that cannot be entered is one wall less; the supervisor holds without it.
    let within = cgroup.and_then(|cgroup| sys::fork(Some(cgroup.as_fd())).ok());
    let side = match within {
        Some(side) => side,
        None => sys::fork(None)?,
    };
    match side {
        Side::Child => {
            let error = become_shell(
                &prepared,
                output.as_fd(),
                stdin.as_fd(),
                failing.as_raw_fd(),
            );
            report(failing, &error)
        }
        Side::Parent(pid) => {
            drop(failing);
            let mut errno = Vec::new();
            _ = failure.read_to_end(&mut errno);
            match errno.first_chunk() {
                None => Ok(pid),
                Some(errno) => {
                    _ = nix::sys::wait::waitpid(pid, None);
                    Err(io::Error::from_raw_os_error(i32::from_ne_bytes(*errno)))
                }
            }
        }
    }
}

impl Prepared {
    fn read(request: OwnedFd) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::from(request).read_to_end(&mut bytes)?;
        let request = Request::decode(&bytes)?;
        let long = request.command.len() > MOST_IN_ARGUMENT;
        let script = long.then(|| script(&request.command)).transpose()?;
        let arguments = match &script {
            None => vec![c"sh".to_owned(), c"-c".to_owned(), text(&request.command)?],
            Some(_) => vec![c"sh".to_owned(), CString::new(format!("/dev/fd/{SCRIPT}"))?],
        };
        let environment = request.env.iter().map(|(name, value)| {
            let mut variable = OsString::with_capacity(name.len() + 1 + value.len());
            variable.push(name);
            variable.push("=");
            variable.push(value);
            text(&variable)
        });
        Ok(Self {
            program: text(&request.shell)?,
            arguments,
            environment: environment.collect::<io::Result<_>>()?,
            workdir: text(&request.workdir)?,
            script,
            request,
        })
    }
}

fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// Puts a command into a file that has no name.
fn script(command: &OsStr) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"command", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(CLOSE_SCRIPT)?;
    file.write_all(command.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Turns this process into the shell. Returns only if that fails.
fn become_shell(
    prepared: &Prepared,
    output: BorrowedFd<'_>,
    stdin: BorrowedFd<'_>,
    failing: RawFd,
) -> io::Error {
    let become_it = || {
        nix::unistd::setsid()?;
        nix::unistd::chdir(prepared.workdir.as_c_str())?;
        // A crash must not fill the workspace with the memory of a command.
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        sys::duplicate(stdin, 0)?;
        sys::duplicate(output, 1)?;
        sys::duplicate(output, 2)?;
        match &prepared.script {
            Some(script) => {
                sys::duplicate(script.as_fd(), SCRIPT)?;
                sys::close_all_but(&[SCRIPT, failing])?;
            }
            None => sys::close_all_but(&[failing])?,
        }
        raise_oom_score(prepared.request.oom_score_adj);
        if prepared.request.nice != 0 {
            _ = rustix::process::nice(prepared.request.nice);
        }
        // What they do is the default since the spawner began.
        SigSet::empty().thread_set_mask()?;
        let errno = sys::execute(
            &prepared.program,
            &prepared.arguments,
            &prepared.environment,
        );
        Err::<std::convert::Infallible, io::Error>(errno.into())
    };
    match become_it() {
        Ok(infallible) => match infallible {},
        Err(error) => error,
    }
}

/// Makes this process one that is ended first when memory runs out, as far as that is possible: a command is not refused for
/// the lack of it.
///
/// The file of a process that is not dumpable belongs to root. Only here, where nothing is left of the supervisor but a copy
/// of its memory, may another command see that: it could do the same to the shell.
fn raise_oom_score(to: i32) {
    _ = nix::sys::prctl::set_dumpable(true);
    let file = File::options()
        .read(true)
        .write(true)
        .open("/proc/self/oom_score_adj");
    let Ok(mut file) = file else {
        return;
    };
    let mut before = String::new();
    let read = file.read_to_string(&mut before);
    if read.is_ok() && before.trim().parse().is_ok_and(|before: i32| before < to) {
        _ = file.write_all(to.to_string().as_bytes());
    }
}

/// Tells the supervisor why there is no shell, and ends.
fn report(failing: OwnedFd, error: &io::Error) -> ! {
    let errno = error.raw_os_error().unwrap_or(Errno::EIO as i32);
    _ = File::from(failing).write_all(&errno.to_ne_bytes());
    sys::exit(127)
}
