//! `toolhost plugin push`.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use toolhost_package::{Metadata, Package, Reference};
use toolhost_plugin::Shape;
use toolhost_service::logging;

use super::{RegistryOptions, signature_of};
use crate::cli::Common;
use crate::cli::plugin::component;

#[derive(Debug, Args)]
pub(in crate::cli::plugin) struct Options {
    /// The component, as `toolhost plugin pack` wrote it
    file: PathBuf,
    /// Where to: oci://REGISTRY/NAME:TAG
    reference: Reference,
    #[command(flatten)]
    registry: RegistryOptions,
}

pub(in crate::cli::plugin) async fn run(
    common: &Common,
    options: &Options,
) -> anyhow::Result<ExitCode> {
    let Options {
        file, reference, ..
    } = options;
    let bytes = component(file)?;
    let shown = || file.display().to_string();
    let metadata = Metadata::read(&bytes).with_context(shown)?;
    if metadata.version.is_none() {
        bail!(
            "{} says nothing about itself: write name and version into it with `toolhost plugin pack`",
            file.display()
        );
    }
    let shape = Shape::read(&bytes).with_context(shown)?;
    let path = signature_of(file);
    let signature = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => bail!("cannot read {}: {error}", path.display()),
    };
    let is_signed = signature.is_some();
    logging::notice(
        format_args!("pushing {} kB", bytes.len().div_ceil(1000)),
        &[],
    );
    let package = Package {
        component: &bytes,
        metadata: &metadata,
        imports: shape.imports.clone(),
        exports: shape.exports.clone(),
        signature,
    };
    let digest = options.registry.registry(reference)?;
    let digest = digest.push(reference, package).await?;
    let signed = if is_signed {
        ", with its signature"
    } else {
        ""
    };
    let pushed = reference.at(&digest).to_string();
    common.report(
        &format!("{pushed}{signed}"),
        &json!({ "reference": pushed, "is_signed": is_signed }),
    )?;
    Ok(ExitCode::SUCCESS)
}
