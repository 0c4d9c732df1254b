//! `toolhost completions`.

use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell as Generator, generate};

use super::{configuration, output};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  D=~/.local/share/bash-completion/completions; mkdir -p $D; toolhost completions bash >$D/toolhost
  D=~/.zfunc; mkdir -p $D; toolhost completions zsh >$D/_toolhost
  D=~/.config/fish/completions; mkdir -p $D; toolhost completions fish >$D/toolhost.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The shell
    shell: Shell,
}

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let generator = match options.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    let mut command = listed(&configuration::command());
    generate(generator, &mut command, "toolhost", &mut script);
    output::write(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a command with the flags that its help lists. The generators offer hidden flags as well.
fn listed(command: &Command) -> Command {
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    // clap takes no other names, and this process ends with its script.
    Command::default()
        .name(&*command.get_name().to_owned().leak())
        .about(command.get_about().cloned().unwrap_or_default())
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .disable_version_flag(true)
        .version(env!("CARGO_PKG_VERSION"))
        .args(args.map(|arg| arg.clone().global(false)))
        .subcommands(command.get_subcommands().map(listed))
}
