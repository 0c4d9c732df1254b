//! `toolhost man`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Command};

use super::configuration;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost man ~/.local/share/man/man1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The directory for the pages, which is made if it is missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let directory = &options.directory;
    let cannot = || format!("cannot write manual pages into {}", directory.display());
    std::fs::create_dir_all(directory).with_context(cannot)?;
    let command = without_help(configuration::command());
    clap_mangen::generate_to(command, directory).with_context(cannot)?;
    Ok(ExitCode::SUCCESS)
}

/// Hides each `help`: its pages would repeat those of the other commands.
fn without_help(command: Command) -> Command {
    command.mut_subcommands(|command| {
        let is_hidden = command.is_hide_set() || command.get_name() == "help";
        without_help(command.hide(is_hidden))
    })
}
