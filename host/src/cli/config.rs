//! `toolhost config`: a configuration to begin with, and finding all problems of one at once.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::{Common, configuration, print};
use crate::config::{Config, ConfigError, Problem};
use serde_json::json;
use toolhost_core::{PluginSet, SCRIPT};

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find everything that is wrong in a configuration file
    ///
    /// Every problem is named with its line, its key, and what to do. All commands check the file itself before they begin; this
    /// one also looks for the files and variables that it names, loads its plugins, and compares the tools that tokens name with
    /// those that there are. With --json, standard output has the problems as well. Exit codes: 0 if nothing is wrong, 2 otherwise.
    Check(Check),
    /// Print a configuration to begin with
    ///
    /// It says what the keys are for that most operators set, with their defaults:
    ///
    ///   toolhost config example > toolhost.toml
    #[command(verbatim_doc_comment)]
    Example,
}

/// What `toolhost config example` prints.
const EXAMPLE: &str = include_str!("config/example.toml");

#[derive(Debug, Args)]
struct Check {
    /// The file [default: the one that --config names, or else the default one]
    file: Option<PathBuf>,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let file = match options.command {
        Command::Check(Check { file }) => file,
        Command::Example => {
            print(EXAMPLE.trim_end())?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let path = file.or_else(|| configuration::path(common.config.as_deref()));
    let path = path.context("there is no configuration to check: name a file")?;
    let checked = check(common, &path).await;
    let found = match &checked {
        Ok(()) => &[][..],
        Err(error) => match error.downcast_ref() {
            Some(ConfigError::Invalid { problems, .. }) => problems,
            _ => return checked.map(|()| ExitCode::SUCCESS),
        },
    };
    if common.json {
        print(&json!({ "file": path.to_string_lossy(), "problems": found }).to_string())?;
    }
    checked?;
    if !common.json {
        print(&format!("{}: nothing is wrong", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails with everything that is wrong in a file.
async fn check(common: &Common, path: &Path) -> anyhow::Result<()> {
    let config = configuration::read(path)?;
    let problems = problems(&configuration::with_locations(common, &config), &config).await?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(config.invalid(problems).into()),
    }
}

/// Returns the problems of the files and variables that a configuration names.
pub(super) fn unreadable(config: &Config) -> Result<Vec<Problem>, ConfigError> {
    let mut problems = configuration::missing(config);
    problems.extend(config.missing());
    match super::config_tokens::configured(config) {
        Err(ConfigError::Invalid { problems: more, .. }) => problems.extend(more),
        other => _ = other?,
    }
    Ok(problems)
}

/// Returns all problems of a configuration beyond the file itself: of the files, variables, plugins and tools that it names.
pub(super) async fn problems(common: &Common, config: &Config) -> anyhow::Result<Vec<Problem>> {
    let mut problems = unreadable(config)?;
    // The program loads the scripts for a call of `run_script` as well, whatever `tool_mode` says.
    let config = &config.clone().with_named_optional();
    // Leave out plugins that cannot be looked up: `missing` has reported them.
    let set = config.plugins().unwrap_or_default();
    let set = PluginSet {
        broken: Default::default(),
        ..set
    };
    let host = match super::host::start(common, set, Ok).await {
        Ok(host) => host,
        // If there are problems already, they may be the reason why the host does not start.
        Err(error) if problems.is_empty() => return Err(error),
        Err(_) => return Ok(problems),
    };
    for plugin in host.plugins() {
        match plugin.error {
            Some(error) => problems.push(config.problem(format!("plugins.{}", plugin.name), error)),
            None if plugin.name == SCRIPT => {
                problems.extend(config.scripts_left_out(&plugin.tools));
            }
            None => {}
        }
    }
    let tools = host.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    problems.extend(config.unknown_tools(&names));
    host.shutdown().await;
    Ok(problems)
}
