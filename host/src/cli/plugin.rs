//! `toolhost plugin`: inspecting and checking plugins before a host runs them.

mod attack;
mod build;
mod cases;
mod cause;
mod check;
mod dev;
mod folder;
mod inspect;
mod list;
mod lone_call;
mod new;
mod notes;
mod package;
mod run;
mod sources;
mod test;
mod wit;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};

use self::folder::Folder;
use super::Common;
use crate::config::name_of;
use toolhost_core::Grants;
use toolhost_plugin::{Capability, CodeCache, Compiler, Engine, Limits, how_to_build};
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
    /// Make the folder of a new plugin, with a tool, its tests and the contract
    ///
    /// Nothing is downloaded: the SDK is part of this program. A folder that is not empty is refused.
    /// Exit codes: 0 if the folder was made, 2 if not.
    New(new::Options),
    /// Build the plugin of a folder into build/NAME.wasm, with the toolchain of its language
    ///
    /// The toolchain runs as you, with your rights.
    /// Exit codes: 0 if the component was built, 1 if the toolchain failed, 2 if it is missing, or for bad usage.
    Build(build::Options),
    /// Run the tests of a plugin natively, then its cases.json through the component
    ///
    /// The component is built for debugging. Each case runs in a fresh instance, in a temporary workspace; the plugin may do what its
    /// plugin.toml asks for, so its commands run as you, and reach whatever you can.
    /// Exit codes: 0 if all is well, 1 if a test or a case failed, 2 if they cannot be run, or for bad usage.
    Test(test::Options),
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
    /// Attack this host with components, and show which limits stop them
    ///
    /// This happens in a process of its own, under small limits, in a temporary workspace. Without FILE, the attackers are the hostile
    /// guests that test Toolhost itself; each must end as it does there. With FILE, each tool is called with its examples and with
    /// hostile arguments. Afterwards the host must have its memory, descriptors and processes back.
    /// Exit codes: 0 if the host stood all of it, 1 if not, 2 for bad usage.
    Attack(attack::Options),
    /// List the plugins of the configuration, or of a running server, with their states
    ///
    /// Exit codes: 0 if all of them load, 1 if one does not, 2 for bad usage.
    List(list::Options),
    /// Build, load and test a plugin again after each change, and serve its tools meanwhile
    ///
    /// The server has this plugin alone, in a temporary workspace unless --workspace or the configuration names one. It shows the
    /// errors of the build, the cases that fail, the plugin's log, and each call. With --server, a running server reloads the plugin
    /// instead; its configuration names the component. Ends on Ctrl-C.
    /// Exit codes: 0 after Ctrl-C, 2 for bad usage or a failed set-up.
    Dev(Box<dev::Options>),
    /// Call a tool of a plugin once
    ///
    /// The plugin is loaded alone, in a temporary workspace unless --workspace or the configuration names one. There it may read and
    /// write files, and the plugin of a folder may do what its plugin.toml asks for; --grant replaces that. Commands run in the
    /// sandbox, as with `toolhost call`.
    /// Exit codes: 0 for a reply, 1 if the tool replied with an error or with "success": false, or if the call was cancelled, 2 for
    /// bad usage or a plugin that does not load.
    Run(Box<run::Options>),
    /// Write name, version, license and the grants that it asks for into a component, from its plugin.toml
    ///
    /// Exit codes: 0 if the package was written, 2 if not.
    Pack(package::pack::Options),
    /// Push a package to a registry of OCI images, with the signature of minisign that lies beside it
    ///
    /// Exit codes: 0 if it is there, 2 if not.
    Push(package::push::Options),
    /// Pull packages that the configuration names, and note in its lock file what they are; or pull one package into a file
    ///
    /// A server downloads nothing: it loads the copies of this machine that the lock file pins.
    /// Exit codes: 0 if all are there, 2 if not.
    Pull(package::pull::Options),
    /// Check the signature of a component, as `minisign -S` makes it
    ///
    /// Exit codes: 0 if the key signed it, 1 if not, 2 for bad usage.
    Verify(package::verify::Options),
    /// Show what a new version of a plugin imports, asks for and offers that the old one did not
    ///
    /// Both are compiled and asked for their tools, and nothing else of them runs.
    /// Exit codes: 0 if there is no difference, 1 if there is one, 2 for bad usage or a component that does not load.
    Diff(package::diff::Options),
    /// Write the contract that plugins are built against, in WIT
    ///
    /// Exit codes: 0 if all files are written, 2 if not.
    Wit(wit::Options),
}

/// The component to inspect or check.
#[derive(Debug, Args)]
struct Subject {
    /// The component, or the folder of a plugin that was built
    #[arg(default_value = ".")]
    file: PathBuf,
    /// The name of the plugin [default: from plugin.toml or the name of the file]
    #[arg(long)]
    name: Option<String>,
}

impl Subject {
    /// Puts the component in place of the folder of its plugin, and takes the name in `plugin.toml`.
    fn resolve(&mut self) -> anyhow::Result<()> {
        if self.file.is_dir() {
            let folder = Folder::open(&self.file)?;
            self.file = folder.built()?;
            self.name.get_or_insert(folder.manifest.name);
        }
        Ok(())
    }

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
            Command::Attack(options) => options.prepare(),
            Command::Check(options) => options.prepare(),
            Command::Dev(options) => options.prepare(),
            Command::Run(options) => options.prepare(),
            Command::Test(_) => Prepared::with_cgroup(true),
            Command::New(_)
            | Command::Build(_)
            | Command::Inspect(_)
            | Command::List(_)
            | Command::Pack(_)
            | Command::Push(_)
            | Command::Pull(_)
            | Command::Verify(_)
            | Command::Diff(_)
            | Command::Wit(_) => Prepared::default(),
        }
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::Inspect(options) => inspect::run(common, options).await,
        Command::Attack(options) => attack::run(common, options, prepared).await,
        Command::Check(options) => check::run(common, options, prepared).await,
        Command::List(options) => list::run(common, &options).await,
        Command::New(options) => new::run(common, options),
        Command::Build(options) => build::run(common, &options).await,
        Command::Test(options) => test::run(common, options, prepared).await,
        Command::Dev(options) => dev::run(common, *options, prepared).await,
        Command::Run(options) => run::run(common, *options, prepared).await,
        Command::Pack(options) => package::pack::run(common, &options),
        Command::Push(options) => package::push::run(common, &options).await,
        Command::Pull(options) => package::pull::run(common, options).await,
        Command::Verify(options) => package::verify::run(common, &options),
        Command::Diff(options) => package::diff::run(common, &options).await,
        Command::Wit(options) => wit::run(common, &options),
    }
}

/// Reads a component, up to a size at which it is certainly too large.
fn component(path: &Path) -> anyhow::Result<Vec<u8>> {
    use std::io::Read;
    let most = Limits::default().component as u64 + 1;
    let mut bytes = Vec::new();
    let unreadable = |error| {
        let advice = how_to_build(path);
        anyhow!("cannot read {}: {error}{advice}", path.display())
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
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
    let open = |path| {
        let cache = CodeCache::open(&StateDir::open(path)?)?;
        anyhow::Ok(match common.shared_code() {
            Some(shared) => cache.sharing(&shared),
            None => cache,
        })
    };
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
