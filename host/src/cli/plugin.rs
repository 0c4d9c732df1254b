//! `toolhost plugin`: inspecting and checking plugins before a host runs them.

mod check;
mod inspect;
mod list;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};

use super::Common;
use crate::config::name_of;
use toolhost_core::Grants;
use toolhost_plugin::{Capability, CodeCache, Compiler, Engine, Limits};
use toolhost_service::THIS_PROGRAM;
use toolhost_service::processes::Prepared;
use toolhost_state::state_dir::StateDir;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the imports, exports and tools of a component, and the section of the configuration that loads it
    ///
    /// It is compiled and asked for its tools, and nothing else of it runs: outside of a call, every capability is denied.
    /// Exit codes: 0 if it loads with the grants that are shown, 1 if not, 2 for bad usage.
    Inspect(inspect::Options),
    /// Load a plugin, check all that it promises, and run its examples
    ///
    /// This happens in a process of its own, with an empty environment but for PATH, language and time zone, in a temporary
    /// workspace. A plugin may always read and write the files of that. A plugin that imports processes or wasi:http is checked,
    /// but its examples run only if that is granted: its commands run as you, and reach whatever you can.
    /// Exit codes: 0 if all is well, 1 if a check failed, 2 for bad usage.
    Check(check::Options),
    /// List the plugins of the configuration, or of a running server, with their states
    ///
    /// Exit codes: 0 if all of them load, 1 if one does not, 2 for bad usage.
    List(list::Options),
}

/// The format of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// One JSON object.
    Json,
}

/// The component to inspect or check.
#[derive(Debug, Args)]
struct Subject {
    /// The component
    file: PathBuf,
    /// How the result is printed
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// The name of the plugin [default: from the name of the file]
    #[arg(long)]
    name: Option<String>,
}

impl Subject {
    /// Returns the name of the plugin, and the bytes of its component.
    fn read(&self) -> anyhow::Result<(String, Vec<u8>)> {
        let bytes = component(&self.file)?;
        Ok((name(self.name.as_deref(), &self.file)?, bytes))
    }
}

impl Options {
    /// Does the work that must come before any thread is started.
    pub(super) fn prepare(&self) -> Prepared {
        match &self.command {
            Command::Check(options) => options.prepare(),
            Command::Inspect(_) | Command::List(_) => Prepared::default(),
        }
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::Inspect(options) => inspect::run(common, &options).await,
        Command::Check(options) => check::run(common, options, prepared).await,
        Command::List(options) => list::run(common, &options).await,
    }
}

/// Reads a component, up to a size at which it is certainly too large.
fn component(path: &Path) -> anyhow::Result<Vec<u8>> {
    use std::io::Read;
    let most = Limits::default().component as u64 + 1;
    let mut bytes = Vec::new();
    let shown = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(path).with_context(shown)?;
    file.take(most)
        .read_to_end(&mut bytes)
        .with_context(shown)?;
    Ok(bytes)
}

/// Returns the name of a plugin: the given one, or the name of the file, with the characters replaced that a name cannot have.
fn name(given: Option<&str>, path: &Path) -> anyhow::Result<String> {
    if let Some(name) = given {
        return Ok(name.to_owned());
    }
    let name = name_of(&path.file_stem().unwrap_or_default().to_string_lossy());
    if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        Ok(name)
    } else {
        bail!(
            "{} gives no name for a plugin: give one with --name",
            path.display()
        )
    }
}

/// Makes an engine with the code cache of the state directory, so that a second run is fast. A directory that the operator
/// named must work.
fn engine(common: &Common) -> anyhow::Result<Engine> {
    let open = |path| anyhow::Ok(CodeCache::open(&StateDir::open(path)?)?);
    let cache = match common.state_dir().as_deref().map(open) {
        Some(Err(error)) if common.state_dir.is_none() => {
            let error = format!("{error:#}");
            tracing::warn!(error, "no code cache: code is compiled each time");
            None
        }
        opened => opened.transpose()?,
    };
    let compiler = Compiler::new(THIS_PROGRAM);
    Ok(Engine::with_compiler(cache, Some(compiler))?)
}

/// Returns the least grants with which a component that needs these capabilities loads. The least grant for HTTP reaches no
/// host.
fn least(needs: &[&Capability]) -> Grants {
    let mut grants = Grants::default();
    needs.iter().for_each(|need| grants.grant_least(need));
    grants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_its_plugin_a_name() {
        let named = |path: &str| name(None, Path::new(path)).map_err(|error| error.to_string());
        assert_eq!(
            named("plugins/Weather-Report.v2.wasm").as_deref(),
            Ok("weather_report_v2")
        );
        assert_eq!(named("a.wasm").as_deref(), Ok("a"));
        insta::assert_snapshot!(named("2.wasm").unwrap_err(), @"2.wasm gives no name for a plugin: give one with --name");
        assert_eq!(name(Some("x"), Path::new("2.wasm")).unwrap(), "x");
    }
}
