//! `toolhost sandbox run`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use anyhow::Context as _;
use clap::Args;
use tokio::sync::oneshot;
use toolhost_local::process::{Config, TEMPORARY_VARIABLES, run_confined};
use toolhost_sandbox::Recipe;
use toolhost_service::processes;
use toolhost_service::signals::{self, Hangup};

use crate::cli::Common;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    processes: processes::Options,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let (config, temporary) = super::configured(common, &options.processes)?;
    let sandbox = config.prepare_sandbox(temporary.path().to_path_buf())?;
    for gap in &sandbox.report().missing {
        tracing::warn!("the sandbox is not whole: {gap}");
    }
    let recipe = sandbox.recipe()?;
    let (done, ended) = oneshot::channel();
    let directory = temporary.path().to_path_buf();
    // The sandbox holds the thread that enters it and the command that it starts, and this program not.
    let thread = std::thread::Builder::new().name("sandboxed".to_owned());
    thread.spawn(move || done.send(start(&recipe, &config, &directory, &options.command)))?;
    // The terminal sends its signals to the command as well, whose end this program waits for.
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

fn start(
    recipe: &Recipe,
    config: &Config,
    temporary: &Path,
    command: &[OsString],
) -> anyhow::Result<ExitStatus> {
    let (program, arguments) = command.split_first().context("there is no command")?;
    let mut variables: BTreeMap<_, _> = config.environment.variables().collect();
    let term = std::env::var_os("TERM");
    variables.extend(term.as_deref().map(|term| (OsStr::new("TERM"), term)));
    let names = TEMPORARY_VARIABLES.map(OsStr::new);
    variables.extend(names.map(|name| (name, temporary.as_os_str())));
    let status = run_confined(recipe, program, arguments, &config.workspace, variables);
    status.with_context(|| format!("{} cannot be started", program.display()))
}

fn code(status: ExitStatus) -> ExitCode {
    let number = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .and_then(|number| u8::try_from(number).ok());
    ExitCode::from(number.unwrap_or(u8::MAX))
}
