//! A program from its first instruction to its exit.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use toolhost_local::process::{SPAWNER, run_spawner};
use toolhost_state::own_limits;

use crate::logging::{self, LogFormat, Spans};
use crate::{errors, signals, stderr};

/// The program that this is, also if its file was replaced meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A failure of usage or set-up, which ends the process with this code; a tool's own failure is no such thing.
pub const SETUP_FAILED: u8 = 2;

/// Is a spawner instead, if that is the one argument of this process: see
/// [`Spawner`](toolhost_local::process::Spawner). Nothing else may be done before, as a spawner must have one thread.
pub fn spawner() {
    let mut arguments = std::env::args_os().skip(1);
    if let (Some(first), None) = (arguments.next(), arguments.next())
        && first == SPAWNER
    {
        name_process(c"toolhost-spawn");
        run_spawner();
    }
}

/// Gives this process its name in lists of processes, which is that of a link otherwise.
pub fn name_process(name: &std::ffi::CStr) {
    _ = nix::sys::prctl::set_name(name);
}

/// Runs a program whose arguments were parsed or could not be used: starts what writes standard error, tells a failure there,
/// and returns the exit code.
pub fn finish<A>(
    arguments: anyhow::Result<A>,
    run: impl FnOnce(A) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    if let Err(error) = stderr::start(logging::missing) {
        return fail(format_args!("cannot start threads: {error}"));
    }
    let code = arguments.and_then(run).unwrap_or_else(|error| {
        logging::failure(errors::told(&error));
        ExitCode::from(SETUP_FAILED)
    });
    stderr::finish();
    code
}

/// Tells a failure before standard error has a thread of its own.
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
    signals::look();
    let spans = logging::start(filter, format)?;
    // Commands run as the same user. They must not read this process's memory, where tokens and secrets are.
    nix::sys::prctl::set_dumpable(false).context("cannot protect the memory of this process")?;
    Ok(spans)
}

/// Runs a future to its end on a runtime of its own. What must be done before there are threads, such as starting a spawner, must
/// have been done.
///
/// # Errors
///
/// If threads cannot be started, and those of the future.
pub fn block_on(
    spans: &Spans,
    run: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    more_descriptors();
    spans.connect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let code = runtime.block_on(async {
        if let Err(error) = own_limits::guard() {
            tracing::warn!(%error, "this process ends if a command lowers its limits of file sizes or CPU time");
        }
        run.await
    });
    // Nothing may hold up the exit, such as a read of standard input that nobody ends.
    runtime.shutdown_background();
    code
}

/// Takes all descriptors that this process may have: a live process takes about four. Commands keep the limit that this
/// process was started with, as the spawner was started before; some programs break with a high one.
fn more_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        tracing::debug!(%error, "the limit of descriptors stays as it is");
    }
}
