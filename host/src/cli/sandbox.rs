//! `toolhost sandbox`: the sandbox of commands, shown and tried.

mod explain;
mod run;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Common;
use toolhost_local::process::Config;
use toolhost_service::processes::{self, Prepared};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost sandbox explain
  toolhost sandbox explain --sandbox read-only --json
  toolhost sandbox run -- cargo test
  toolhost sandbox run --sandbox-network none -- sh";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a command may do
    ///
    /// Prints what it may write and read, what the sandbox enforces, and what it does not. Exit codes: 0, or 2 if the sandbox cannot be
    /// applied.
    Explain(explain::Options),
    /// Run a command in the sandbox, in this terminal
    ///
    /// The command starts in the workspace, with the variables that commands of tools get and the TERM of this terminal. Exit codes:
    /// that of the command, 128 and the number of the signal that ended it, or 2 if it cannot be started.
    Run(run::Options),
}

impl Options {
    pub(super) fn prepare(&self) -> Prepared {
        match &self.command {
            Command::Explain(options) => options.processes.prepare(),
            Command::Run(options) => options.processes.prepare(),
        }
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::Explain(options) => explain::run(common, options, prepared),
        Command::Run(options) => run::run(common, options, prepared).await,
    }
}

/// Returns the configuration of commands, as `toolhost call` has it.
fn configured(
    common: &Common,
    mut options: processes::Options,
    prepared: Prepared,
) -> anyhow::Result<Config> {
    options.protect_by_default();
    options.config(&common.workspace()?, prepared, common.private_paths())
}
