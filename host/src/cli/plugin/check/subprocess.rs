//! The process of a check: with a scrubbed environment, in a temporary directory. It ends at the latest with its parent
//! process.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use nix::sys::signal::Signal;

use super::{Common, Options};
use toolhost_plugin::self_exec;
use toolhost_service::signals::{self, Hangup};
use toolhost_service::{THIS_PROGRAM, logging};
use toolhost_state::state_dir::StateDir;

/// The variables of the environment that the process keeps, for the commands that examples may run.
const ENVIRONMENT: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "NO_COLOR"];

/// Runs the check in a process of its own, and returns its exit code.
pub(super) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let directory = tempfile::Builder::new()
        .prefix("toolhost-check-")
        .tempdir()
        .context("cannot make a temporary directory")?;
    let path = directory.path();
    for name in ["workspace", "tmp"] {
        std::fs::create_dir(path.join(name)).context("cannot make a temporary directory")?;
    }
    // Check this before anything is started: a missing file is wrong usage.
    crate::cli::plugin::component(&options.subject.file)?;
    let mut command = self_exec::command(Path::new(THIS_PROGRAM), ["plugin", "check"]);
    command
        .arg("--confined")
        .arg(path)
        .args(["--log", &common.log])
        .args(["--format", &named(&options.subject.format)])
        .args(["--log-format", &named(&common.log_format)])
        .args(options.grant.iter().map(|grant| format!("--grant={grant}")))
        .args(
            options
                .setting
                .iter()
                .map(|setting| format!("--setting={}={}", setting.0, setting.1)),
        )
        .args(
            options
                .subject
                .name
                .iter()
                .map(|name| format!("--name={name}")),
        )
        .args(
            common
                .state_dir
                .iter()
                .flat_map(|state| ["--state-dir".as_ref(), state.as_os_str()]),
        )
        .arg("--")
        .arg(&options.subject.file)
        .envs(
            ENVIRONMENT
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .env("HOME", path.join("workspace"))
        .env("TMPDIR", path.join("tmp"))
        .stdin(std::process::Stdio::null());
    // Use the same code cache, so that a later check need not compile again.
    if let Some(state) = StateDir::default_path().as_deref().and_then(Path::parent) {
        command.env("XDG_STATE_HOME", state);
    }
    let mut child = command.spawn().context("cannot start the check")?;
    let status = tokio::select! {
        status = child.wait() => status.context("cannot wait for the check")?,
        () = signals::ended(Hangup::Ends) => {
            _ = child.kill().await;
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Some(signal) = status.signal() {
        let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
        logging::failure(format_args!("the process of the check was ended by {name}"));
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Makes the kernel kill this process when its parent ends.
pub(super) fn end_with_parent() -> anyhow::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).context("cannot watch the parent")?;
    Ok(())
}

fn named(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
