//! `toolhost plugin wit`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::Common;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder, which is made if it is missing. Files of the contract in it are replaced
    #[arg(value_name = "DIR", default_value = "wit")]
    folder: PathBuf,
}

pub(super) fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    toolhost_author::write_contract(&options.folder)?;
    for file in toolhost_author::CONTRACT {
        let file = options.folder.join(file.path);
        common.report(
            &file.display().to_string(),
            &json!({ "file": file.to_string_lossy() }),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
