//! `toolhost plugin wit`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::print;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder, which is made if it is missing. Files of the contract in it are replaced
    #[arg(value_name = "DIR", default_value = "wit")]
    folder: PathBuf,
}

pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    toolhost_author::write_contract(&options.folder)?;
    for file in toolhost_author::CONTRACT {
        print(&options.folder.join(file.path).display().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
