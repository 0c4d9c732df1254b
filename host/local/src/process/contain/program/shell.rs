//! Spawning the shell of a command, with `fork` and `execve`, below its supervisor.

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use super::command_limits::CommandLimits;
use super::terminal::Terminal;
use crate::process::contain::sys::{self, Side};
use crate::process::contain::terms::Terms;
use crate::process::contain::wire::Request;
use toolhost_sandbox::{Inherited, Recipe};

/// The longest command that can be an argument, in bytes: Linux takes 131,072 in one, with its final NUL.
const MOST_IN_ARGUMENT: usize = 131_071;

/// The words of commands that look for processes by their arguments. With the command as an argument, its own shell would be found:
/// `pkill -f server; echo next` would end itself, and `pgrep -f server` would always succeed.
const LOOKING: &[&[u8]] = &[
    b"pgrep", b"pkill", b"pidof", b"pidwait", b"ps", b"psutil", b"cmdline",
];

/// The descriptor by which a shell reads a command that must not be an argument. The shells at hand use numbers from 10 on for
/// themselves, and a command hardly ever uses this one.
const SCRIPT: RawFd = 9;

/// The commands with which shells run the script at [`SCRIPT`]. The shells name themselves in errors as with any `sh -c`, and close the
/// descriptor for the programs that the script starts.
const RUN_BY_BASH: &CStr = c"eval \"$(</dev/fd/9)\" 9<&-";
const RUN_BY_SH: &CStr = c"eval \"$(command -p cat <&9)\" 9<&-";

/// The exit code of a child that could not become the shell.
const NOT_EXECUTED: i32 = 127;

/// A shell that runs.
pub(super) struct Started {
    pub(super) pid: Pid,
    /// The terms of a kept command.
    pub(super) terms: Option<Terms>,
    /// The controlling side of its terminal, if it has one.
    pub(super) terminal: Option<OwnedFd>,
}

/// A request, and the parts of an exec that are made before the fork.
struct Prepared {
    request: Request,
    sandbox: Recipe,
    arguments: Vec<CString>,
    script: Option<OwnedFd>,
}

/// Starts the shell of a request and returns once it has executed, or could not. The host is sent the terminal of the command on `stdin`.
/// `inherited` is the filter of system calls that this process has for its commands, if all of them have the same one.
pub(super) fn start(
    request: OwnedFd,
    ruleset: Option<OwnedFd>,
    [output, stdin]: [&OwnedFd; 2],
    cgroup: Option<&OwnedFd>,
    limits: CommandLimits,
    inherited: Option<&mut Inherited>,
) -> io::Result<Started> {
    let mut prepared = Prepared::read(request, ruleset)?;
    // A filter keeps this process from a fork into a cgroup.
    if let Some(inherited) = inherited.filter(|_| cgroup.is_none()) {
        let Prepared {
            request, sandbox, ..
        } = &mut prepared;
        sandbox.let_inherit(&request.sandbox, inherited)?;
    }
    let terminal = match prepared.request.terminal {
        Some(size) => Some(Terminal::open(size, stdin)?),
        None => None,
    };
    let [output, stdin] = match &terminal {
        Some(terminal) => [&terminal.programs; 2],
        None => [output, stdin],
    };
    let (mut failure, failing) = io::pipe()?;
    // This closes the original: otherwise the pipe would never end.
    let failing = above_the_childs(failing)?;
    let shell = || {
        let Err(error) = become_shell(
            &prepared,
            &limits,
            [output.as_fd(), stdin.as_fd()],
            failing.as_raw_fd(),
        );
        report(failing.as_fd(), &error);
        NOT_EXECUTED
    };
    let pid = match cgroup {
        // A command in a sandbox can neither trace a process outside of it nor read its memory. So no command gets at the supervisor
        // while the shell shares the supervisor's memory.
        None if prepared.sandbox.has_ruleset() => {
            let started = sys::fork_sharing(shell);
            // The shell may have changed this for its own sake. It cannot fail.
            _ = nix::sys::prctl::set_dumpable(false);
            started?
        }
        cgroup => {
            // If the cgroup cannot be entered, start the shell without it: the supervisor contains the command alone.
            let within = cgroup.and_then(|cgroup| sys::fork(Some(cgroup.as_fd())).ok());
            let side = match within {
                Some(side) => side,
                None => sys::fork(None)?,
            };
            match side {
                Side::Child => sys::exit(shell()),
                Side::Parent(pid) => pid,
            }
        }
    };
    drop(failing);
    let mut errno = Vec::new();
    _ = failure.read_to_end(&mut errno);
    match errno.first_chunk() {
        None => Ok(Started {
            pid,
            terms: prepared.request.kept,
            terminal: terminal.map(|terminal| terminal.hosts),
        }),
        Some(errno) => {
            _ = nix::sys::wait::waitpid(pid, None);
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(*errno)))
        }
    }
}

/// Prepares a command that is not run. A process that was just forked shares its memory with its parent, and copies or maps each page
/// when it first uses it: now, and not while a command waits.
pub(super) fn warm_up() {
    let variable =
        || c"TOOLHOST_VARIABLE=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin".to_owned();
    let request = Request {
        shell: c"/bin/sh".to_owned(),
        command: c"true".to_owned(),
        workdir: c"/".to_owned(),
        env: std::iter::repeat_with(variable).take(32).collect(),
        nice: 0,
        oom_score_adj: 0,
        terminal: None,
        kept: None,
        sandbox: Recipe::sample(),
    };
    let prepared = sys::in_memory(&request.encode()).and_then(|file| Prepared::read(file, None));
    drop(prepared);
}

impl Prepared {
    fn read(request: OwnedFd, ruleset: Option<OwnedFd>) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::from(request).read_to_end(&mut bytes)?;
        let request = Request::decode(&bytes)?;
        let ruleset = ruleset.map(above_the_childs).transpose()?;
        let sandbox = Recipe::decode(&request.sandbox, ruleset)?;
        let command = request.command.as_bytes();
        let is_script = command.len() > MOST_IN_ARGUMENT || looks_for_processes(command);
        let script = is_script.then(|| sys::in_memory(command)).transpose()?;
        let arguments = invocation(&request, is_script);
        Ok(Self {
            request,
            sandbox,
            arguments,
            script,
        })
    }
}

/// Returns the arguments of a shell, from its name on. Under the name `sh`, bash is in its POSIX mode. With SSH_CLIENT among the variables,
/// bash takes itself for the shell of a login and reads the home's `.bashrc`, unless told otherwise.
fn invocation(request: &Request, is_script: bool) -> Vec<CString> {
    let name = request.shell.to_bytes().rsplit(|byte| *byte == b'/').next();
    let (mut arguments, run) = match name {
        Some(b"bash") => (vec![c"bash".into(), c"--norc".into()], RUN_BY_BASH),
        _ => (vec![c"sh".into()], RUN_BY_SH),
    };
    let command = match is_script {
        true => run.into(),
        false => request.command.clone(),
    };
    arguments.extend([c"-c".into(), command]);
    arguments
}

/// Returns whether a command may look for processes by their arguments. All other commands are arguments of their shell, as with any
/// `sh -c`: only then does the shell become its last command.
fn looks_for_processes(command: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    command
        .split(|byte| !is_part(byte))
        .any(|word| LOOKING.contains(&word))
}

/// Moves a descriptor above the numbers that the child will use.
fn above_the_childs(low: impl Into<OwnedFd>) -> io::Result<OwnedFd> {
    let low = low.into();
    Ok(rustix::io::fcntl_dupfd_cloexec(&low, SCRIPT + 1)?)
}

/// Turns this process into the shell. Returns only if that fails.
fn become_shell(
    prepared: &Prepared,
    limits: &CommandLimits,
    [output, stdin]: [BorrowedFd<'_>; 2],
    failing: RawFd,
) -> io::Result<Infallible> {
    let request = &prepared.request;
    nix::unistd::setsid()?;
    nix::unistd::chdir(request.workdir.as_c_str())?;
    // A crash must not fill the workspace with the memory of a command.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    limits.apply()?;
    if request.terminal.is_some() {
        rustix::process::ioctl_tiocsctty(stdin)?;
    }
    sys::duplicate(stdin, 0)?;
    sys::duplicate(output, 1)?;
    sys::duplicate(output, 2)?;
    // Those of the sandbox close at the exec.
    let mut keep = vec![failing];
    keep.extend(prepared.sandbox.descriptors().map(|fd| fd.as_raw_fd()));
    if let Some(script) = &prepared.script {
        sys::duplicate(script.as_fd(), SCRIPT)?;
        keep.push(SCRIPT);
    }
    sys::close_all_but(&keep)?;
    raise_oom_score(request.oom_score_adj);
    if request.nice != 0 {
        _ = rustix::process::nice(request.nice);
    }
    // The spawner has reset the actions of all signals.
    SigSet::empty().thread_set_mask()?;
    prepared.sandbox.apply()?;
    Ok(nix::unistd::execve(
        &request.shell,
        &prepared.arguments,
        &request.env,
    )?)
}

/// Raises the score by which the kernel chooses a process to kill when memory runs out. If that fails, the command runs all the
/// same.
fn raise_oom_score(to: i32) {
    let open = || {
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .open("/proc/self/oom_score_adj")
    };
    // The file belongs to root while a process is not dumpable. Other commands can read the memory of a dumpable process, unless they
    // are in a sandbox: here it is that of the supervisor, or a copy of it, and they could read the shell's as well.
    let file = open().or_else(|_| {
        _ = nix::sys::prctl::set_dumpable(true);
        open()
    });
    let Ok(mut file) = file else {
        return;
    };
    let mut before = String::new();
    let read = file.read_to_string(&mut before);
    if read.is_ok() && before.trim().parse().is_ok_and(|before: i32| before < to) {
        _ = file.write_all(to.to_string().as_bytes());
    }
}

/// Sends the supervisor the error of the exec.
fn report(failing: BorrowedFd<'_>, error: &io::Error) {
    let errno = error.raw_os_error().unwrap_or(Errno::EIO as i32);
    _ = nix::unistd::write(failing, &errno.to_ne_bytes());
}
