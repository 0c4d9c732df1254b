//! `toolhost plugin build`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolhost_author::{Build, BuildError, ProgramError};
use toolhost_plugin::{Digest, Shape};
use toolhost_service::logging;

use super::component;
use super::folder::Folder;
use super::inspect;
use crate::cli::{Common, print};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder of the plugin
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    how: How,
}

/// How a plugin is built.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(skip)]
pub(super) struct How {
    /// Keep the names of functions and the lines that traps show, and build fast instead of small
    #[arg(long)]
    debug: bool,
    /// Install what is missing: into the folder of the plugin, or with rustup
    #[arg(long)]
    install: bool,
    /// Whether the component goes into `build/debug`.
    #[arg(skip)]
    apart: bool,
}

impl How {
    /// Returns how a plugin is built while it is written. `apart`: into `build/debug`, so that the component of `plugin build`
    /// stays.
    pub(super) fn for_debugging(install: bool, apart: bool) -> Self {
        Self {
            debug: true,
            install,
            apart,
        }
    }

    /// Returns how the plugin of a folder is built.
    pub(super) fn of(self, folder: &Folder) -> Build<'_> {
        Build {
            folder: &folder.path,
            manifest: &folder.manifest,
            debug: self.debug,
            install: self.install,
            apart: self.apart,
        }
    }
}

pub(super) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let folder = Folder::open(&options.folder)?;
    folder.grants()?;
    match options.how.of(&folder).run().await {
        Ok(component) => report(common, &component)?,
        Err(error) => return failed(error),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints why there is no component. A toolchain that failed has said so itself, or its error says it.
pub(super) fn failed(error: BuildError) -> anyhow::Result<ExitCode> {
    match error {
        error @ BuildError::Program(ProgramError::Failed { .. } | ProgramError::Mistake(_)) => {
            logging::failure(error);
            Ok(ExitCode::FAILURE)
        }
        error => Err(error.into()),
    }
}

/// Prints the facts about a component that an author wants to know.
fn report(common: &Common, path: &Path) -> anyhow::Result<()> {
    let bytes = component(path)?;
    let shape = Shape::read(&bytes)?;
    let (size, sha256) = (bytes.len(), Digest::of(&bytes));
    if common.json {
        let imports = inspect::imports(&shape);
        let object = json!({ "file": path.to_string_lossy(), "size": size, "sha256": sha256, "imports": imports });
        return print(&object.to_string());
    }
    let kilobytes = size.div_ceil(1000);
    print(&format!("{}: {kilobytes} kB", path.display()))?;
    print(&format!("sha256   {sha256}"))?;
    let granted: Vec<_> = shape.granted().collect();
    for import in &shape.imports {
        let grant = granted.iter().find(|(name, _)| name == import);
        match grant {
            Some((_, grant)) => print(&format!(
                "imports  {import}, which needs a grant: {}",
                grant.line()
            ))?,
            None if import.starts_with("wasi:") => {}
            None => print(&format!("imports  {import}"))?,
        }
    }
    let wasi = |name: &&String| {
        let is_granted = granted.iter().any(|(granted, _)| granted == name);
        name.starts_with("wasi:") && !is_granted
    };
    match shape.imports.iter().filter(wasi).count() {
        0 => Ok(()),
        count => print(&format!(
            "imports  {count} interfaces of WASI, which give access to nothing"
        )),
    }
}
