//! `toolhost plugin verify`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use toolhost_package::{PublicKey, SignatureError};
use toolhost_plugin::shown;
use toolhost_service::logging;

use super::signature_of;
use crate::cli::plugin::component;
use crate::cli::{Common, print};

#[derive(Debug, Args)]
pub(in crate::cli::plugin) struct Options {
    /// The component
    file: PathBuf,
    /// The public key of minisign: the line of minisign.pub that begins with RW
    #[arg(long, value_name = "KEY")]
    signed_by: PublicKey,
    /// The signature [default: FILE.minisig]
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
}

pub(in crate::cli::plugin) fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let bytes = component(&options.file)?;
    let path = options.signature.clone();
    let path = path.unwrap_or_else(|| signature_of(&options.file));
    let signature = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read the signature {}", path.display()))?;
    match options.signed_by.verify(&bytes, &signature) {
        Ok(comment) => {
            let file = options.file.display();
            common.report(
                &format!("{file}: the signature is right ({})", shown(&comment)),
                &json!({ "file": options.file.to_string_lossy(), "is_valid": true, "comment": comment }),
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error @ SignatureError::Wrong(_)) => {
            if common.json {
                print(
                    &json!({ "file": options.file.to_string_lossy(), "is_valid": false })
                        .to_string(),
                )?;
            }
            logging::failure(format_args!("{}: {error}", options.file.display()));
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}
