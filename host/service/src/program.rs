//! A program from its first instruction to its exit.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use toolhost_call::threads;
use toolhost_local::process::{SPAWNER, run_spawner};
use toolhost_state::own_limits;

use crate::logging::{self, LogFormat, Spans};
use crate::{errors, signals, stderr};

/// The path of the running program, which works even if its file was replaced meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// The exit code after wrong usage or a failed set-up. The failure of a tool has another code.
pub const SETUP_FAILED: u8 = 2;

/// Runs the spawner, and does not return, if the only argument of this process is [`SPAWNER`]; see
/// [`Spawner`](toolhost_local::process::Spawner). Call this before anything else, because a spawner must have one thread.
pub fn run_if_spawner() {
    let mut arguments = std::env::args_os().skip(1);
    if let (Some(first), None) = (arguments.next(), arguments.next())
        && first == SPAWNER
    {
        name_process(c"toolhost-spawn");
        run_spawner();
    }
}

/// Sets the name of this process in lists of processes. Otherwise it would be that of the link `/proc/self/exe`.
pub fn name_process(name: &std::ffi::CStr) {
    _ = nix::sys::prctl::set_name(name);
}

/// Runs a program with its arguments, unless they could not be used, and returns the exit code. Starts the thread that writes
/// standard error, and prints a failure there.
pub fn finish<A>(
    arguments: anyhow::Result<A>,
    run: impl FnOnce(A) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    if let Err(error) = stderr::start(logging::missing) {
        return fail(format_args!("cannot start threads: {error}"));
    }
    let code = arguments.and_then(run).unwrap_or_else(|error| {
        logging::failure(errors::full_text(&error));
        ExitCode::from(SETUP_FAILED)
    });
    stderr::finish();
    code
}

/// Prints a failure to standard error directly, without the thread that writes it later.
pub fn fail(text: impl std::fmt::Display) -> ExitCode {
    let line = logging::failure_line(text);
    _ = io::stderr().write_all(line.as_bytes());
    ExitCode::from(SETUP_FAILED)
}

/// Starts logging, and protects this process from the commands that it will run.
///
/// # Errors
///
/// If logging cannot be started, or the process cannot be protected.
pub fn protect(filter: &str, format: LogFormat) -> anyhow::Result<Spans> {
    signals::remember_start();
    let spans = logging::start(filter, format)?;
    // Commands run as the same user. They must not read this process's memory, where tokens and secrets are.
    nix::sys::prctl::set_dumpable(false).context("cannot protect the memory of this process")?;
    Ok(spans)
}

/// Runs a future to its end on a new runtime with so many workers, by default one for each core. The caller must first finish all work that
/// needs a single thread, such as starting the spawner.
///
/// # Errors
///
/// If threads cannot be started, or if the future fails.
pub fn block_on(
    spans: &Spans,
    workers: Option<usize>,
    run: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    more_descriptors();
    spans.connect();
    let runtime = threads::runtime("toolhost-worker", workers).context("cannot start threads")?;
    let code = runtime.block_on(async {
        if let Err(error) = own_limits::guard() {
            tracing::warn!(%error, "this process ends if a command lowers its limits of file sizes or CPU time");
        }
        run.await
    });
    // Do not wait for blocking tasks, such as a read of standard input that never ends.
    runtime.shutdown_background();
    code
}

/// Raises the limit of descriptors to the hard limit, because each live process takes about four. Commands keep the original
/// limit, because the spawner was started before; some programs break with a high limit.
fn more_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        tracing::debug!(%error, "the limit of descriptors stays as it is");
    }
}
