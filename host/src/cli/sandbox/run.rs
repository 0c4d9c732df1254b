//! `toolhost sandbox run`.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use anyhow::Context as _;
use clap::Args;
use toolhost_local::process::{Config, run_confined};
use toolhost_service::processes::{self, Prepared};
use toolhost_service::signals::{self, Hangup};

use crate::cli::Common;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) processes: processes::Options,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let config = super::configured(common, options.processes, prepared)?;
    for gap in &config.prepare_sandbox()?.report().missing {
        tracing::warn!("the sandbox does not enforce the whole policy: {gap}");
    }
    // As the host makes it for a chat.
    let temporary = tempfile::Builder::new()
        .prefix("toolhost-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    let directory = temporary.path().to_path_buf();
    let ended = tokio::task::spawn_blocking(move || start(&config, &directory, &options.command));
    // The terminal also sends its signals to the command, and this program must wait until the command has ended.
    let ignored = async {
        loop {
            signals::ended(Hangup::Ends).await;
        }
    };
    let status = tokio::select! {
        ended = ended => ended.context("the command was not started")??,
        never = ignored => never,
    };
    Ok(code(status))
}

fn start(config: &Config, directory: &Path, command: &[OsString]) -> anyhow::Result<ExitStatus> {
    let (program, arguments) = command.split_first().context("there is no command")?;
    let term = std::env::var_os("TERM");
    let term = term.as_deref().map(|term| (OsStr::new("TERM"), term));
    let status = run_confined(config, directory, program, arguments, term);
    status.with_context(|| format!("{} cannot be started", program.display()))
}

fn code(status: ExitStatus) -> ExitCode {
    let number = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .and_then(|number| u8::try_from(number).ok());
    ExitCode::from(number.unwrap_or(u8::MAX))
}
