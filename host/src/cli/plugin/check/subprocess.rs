//! The process of a check, or of an attack: with a scrubbed environment, in a temporary directory. It ends at the latest with its parent
//! process.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::{Common, named};
use toolhost_plugin::self_exec;
use toolhost_service::signals::{self, Hangup};
use toolhost_service::{THIS_PROGRAM, logging};
use toolhost_state::state_dir::StateDir;

/// The variables of the environment that the process keeps, for the commands that examples may run.
const ENVIRONMENT: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "NO_COLOR"];

/// Runs a subcommand of `toolhost plugin` with these arguments in a process of its own, and returns its exit code.
pub(in crate::cli::plugin) async fn confined(
    common: &Common,
    subcommand: &str,
    arguments: Vec<OsString>,
) -> anyhow::Result<ExitCode> {
    let directory = tempfile::Builder::new()
        .prefix("toolhost-check-")
        .tempdir()
        .context("cannot make a temporary directory")?;
    let path = directory.path();
    for name in ["workspace", "tmp"] {
        std::fs::create_dir(path.join(name)).context("cannot make a temporary directory")?;
    }
    let mut command = self_exec::command(Path::new(THIS_PROGRAM), ["plugin", subcommand]);
    command
        .arg("--confined")
        .arg(path)
        .arg("--workspace")
        .arg(path.join("workspace"))
        // The report has the causes of failures already.
        .arg("--log")
        .arg(format!("{},toolhost::guest::failure=off", common.log))
        .args(["--log-format", &named(&common.log_format)])
        .args(
            common
                .state_dir
                .iter()
                .flat_map(|state| ["--state-dir".as_ref(), state.as_os_str()]),
        )
        .args(common.json.then_some("--json"))
        .args(arguments)
        .envs(
            ENVIRONMENT
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .env("HOME", path.join("workspace"))
        .env("TMPDIR", path.join("tmp"))
        .stdin(std::process::Stdio::null());
    // Use the same code cache, so that neither a later check nor a server need compile again. Without XDG_CACHE_HOME, the directory of
    // shared code would be in the workspace, so that it is not used.
    for (name, path) in [
        ("XDG_STATE_HOME", StateDir::default_path()),
        ("XDG_CACHE_HOME", common.shared_code()),
    ] {
        if let Some(home) = path.as_deref().and_then(Path::parent) {
            command.env(name, home);
        }
    }
    let mut child = command.spawn().context("cannot start a process for it")?;
    let status = tokio::select! {
        status = child.wait() => status.context("cannot wait for its process")?,
        () = signals::ended(Hangup::Ends) => {
            _ = child.kill().await;
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Some(signal) = status.signal() {
        let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
        logging::failure(format_args!(
            "the process of the {subcommand} was ended by {name}"
        ));
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Makes the kernel kill this process when its parent ends.
pub(in crate::cli::plugin) fn end_with_parent() -> anyhow::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).context("cannot watch the parent")?;
    Ok(())
}
