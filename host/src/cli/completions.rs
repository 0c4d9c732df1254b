//! `toolhost completions`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use clap_complete::{Shell as Generator, generate};

use super::{configuration, output};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost completions bash > ~/.local/share/bash-completion/completions/toolhost
  toolhost completions zsh > ~/.zfunc/_toolhost
  toolhost completions fish > ~/.config/fish/completions/toolhost.fish";

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
    generate(
        generator,
        &mut configuration::command(),
        "toolhost",
        &mut script,
    );
    output::write(&script)?;
    Ok(ExitCode::SUCCESS)
}
