//! `toolhost plugin pull`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use toolhost_package::{Copies, Lock, Locked, PublicKey, Pulled, Reference};
use toolhost_plugin::Digest;
use toolhost_service::logging;

use super::{RegistryOptions, copies};
use crate::cli::Common;
use crate::config::Package;

#[derive(Debug, Args)]
pub(in crate::cli::plugin) struct Options {
    /// What to pull: oci://REGISTRY/NAME:TAG [default: all that the configuration names]
    reference: Option<Reference>,
    /// The file to write [default: NAME.wasm in the current directory]
    #[arg(long, short, value_name = "FILE", requires = "reference")]
    output: Option<PathBuf>,
    /// The public key of minisign that must have signed it
    #[arg(long, value_name = "KEY", requires = "reference")]
    signed_by: Option<PublicKey>,
    /// Ask the registry for what the tags of the configuration mean now, and write that into the lock file
    #[arg(long, conflicts_with = "reference")]
    update: bool,
    #[command(flatten)]
    registry: RegistryOptions,
}

pub(in crate::cli::plugin) async fn run(
    common: &Common,
    options: Options,
) -> anyhow::Result<ExitCode> {
    match &options.reference {
        Some(reference) => to_file(common, &options, reference).await,
        None => all(common, &options).await,
    }
}

async fn to_file(
    common: &Common,
    options: &Options,
    reference: &Reference,
) -> anyhow::Result<ExitCode> {
    let pulled = options.registry.pull(reference).await?;
    check(&pulled, options.signed_by.as_ref(), reference)?;
    let path = options.output.clone().unwrap_or_else(|| {
        let name = reference.to_string();
        let name = name.rsplit('/').next().unwrap_or_default();
        let name = name.split([':', '@']).next().unwrap_or_default();
        format!("{name}.wasm").into()
    });
    std::fs::write(&path, &pulled.component)
        .with_context(|| format!("cannot write {}", path.display()))?;
    if let Some(signature) = &pulled.signature {
        let path = super::signature_of(&path);
        std::fs::write(&path, signature)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let reference = reference.at(&pulled.manifest).to_string();
    let sha256 = Digest::of(&pulled.component);
    common.report(
        &format!("{}: {reference}\nsha256   {sha256}", path.display()),
        &json!({ "file": path.to_string_lossy(), "reference": reference, "sha256": sha256 }),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Pulls what the configuration names and is not there, and writes the lock file.
async fn all(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let config = common.configuration.as_ref();
    let Some((config, path)) = config.and_then(|config| Some((config, config.lock_file()?))) else {
        bail!(
            "there is no configuration that names packages: give one with --config, or what to pull"
        );
    };
    let packages: Vec<_> = config.packages().collect();
    if packages.is_empty() {
        bail!(
            "the configuration names no package: write component = \"oci://…\" for one, or give what to pull"
        );
    }
    let mut lock = Lock::read(&path)?;
    let copies = copies()?;
    for (name, package) in &packages {
        let locked = one(options, package, &lock, &copies).await;
        let (locked, is_new) = locked.with_context(|| format!("plugin {name}"))?;
        let told = if is_new { "pulled" } else { "is there" };
        let reference = package.reference.at(&locked.manifest).to_string();
        common.report(
            &format!("{name}: {reference} {told}"),
            &json!({ "plugin": name, "reference": reference, "is_new": is_new }),
        )?;
        lock.set(&package.reference, locked);
        lock.write(&path)?;
    }
    lock.retain(
        &packages
            .iter()
            .map(|(_, package)| package.reference.clone())
            .collect::<Vec<_>>(),
    );
    lock.write(&path)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the package of a reference, and whether it had to be pulled.
async fn one(
    options: &Options,
    package: &Package,
    lock: &Lock,
    copies: &Copies,
) -> anyhow::Result<(Locked, bool)> {
    let key = package.signed_by.as_ref().map(PublicKey::to_string);
    let locked = lock.get(&package.reference).filter(|_| !options.update);
    if let Some(locked) = locked
        && locked.signed_by == key
        && copies.has(&locked.component)
    {
        return Ok((locked.clone(), false));
    }
    let from = match locked {
        Some(locked) => package.reference.at(&locked.manifest),
        None => package.reference.clone(),
    };
    let pulled = options.registry.pull(&from).await?;
    check(&pulled, package.signed_by.as_ref(), &from)?;
    let component = copies.keep(&pulled.component);
    let component = component.context("the copy cannot be kept")?;
    let locked = Locked {
        manifest: pulled.manifest,
        component,
        signed_by: key,
    };
    Ok((locked, true))
}

fn check(pulled: &Pulled, key: Option<&PublicKey>, from: &Reference) -> anyhow::Result<()> {
    let Some(key) = key else {
        return Ok(());
    };
    let Some(signature) = &pulled.signature else {
        bail!("{from} has no signature, and must have one by the key {key}");
    };
    let comment = key.verify(&pulled.component, signature);
    let comment = comment.with_context(|| from.to_string())?;
    logging::notice(
        format_args!("the signature of {from} is right: {comment}"),
        &[],
    );
    Ok(())
}
