//! `toolhost plugin pack`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use toolhost_package::Metadata;
use toolhost_plugin::Digest;

use crate::cli::Common;
use crate::cli::plugin::component;
use crate::cli::plugin::folder::Folder;

#[derive(Debug, Args)]
pub(in crate::cli::plugin) struct Options {
    /// The folder of the plugin
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The file to write [default: build/NAME-VERSION.wasm in the folder]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(in crate::cli::plugin) fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(&options.folder)?;
    // A mistake in [grants] is found here rather than by an operator.
    folder.grants()?;
    let built = folder.built()?;
    let manifest = &folder.manifest;
    let metadata = Metadata {
        name: Some(manifest.name.clone()),
        version: Some(manifest.version.clone()),
        description: Some(manifest.description.clone()),
        license: manifest.license.clone(),
        source: manifest.source.clone(),
        grants: manifest.grants.clone(),
    };
    let packed = metadata.add_to(&component(&built)?);
    let packed = packed.with_context(|| built.display().to_string())?;
    let output = options.output.clone().unwrap_or_else(|| {
        built.with_file_name(format!("{}-{}.wasm", manifest.name, manifest.version))
    });
    std::fs::write(&output, &packed)
        .with_context(|| format!("cannot write {}", output.display()))?;
    let (size, sha256) = (packed.len(), Digest::of(&packed));
    let kilobytes = size.div_ceil(1000);
    common.report(
        &format!("{}: {kilobytes} kB\nsha256   {sha256}", output.display()),
        &json!({ "file": output.to_string_lossy(), "size": size, "sha256": sha256 }),
    )?;
    Ok(ExitCode::SUCCESS)
}
