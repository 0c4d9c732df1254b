//! The configuration file as defaults for flags: a flag wins over a variable, a variable over the file.

mod applicable;
mod named;
mod settings;
mod unknown;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches as _};

use super::{Arguments, Common, help};
use crate::config::{Config, ConfigError, Problem};
use toolhost_service::logging;

/// Returns the command line of this program.
pub(super) fn command() -> Command {
    applicable::command()
}

/// Returns the arguments of this program. The configuration supplies values that are not given otherwise. Like clap, this ends
/// the program if the arguments are not valid.
pub(super) fn arguments(given: Vec<OsString>) -> anyhow::Result<Arguments> {
    let command = applicable::command();
    let matches = command.clone().try_get_matches_from(&given);
    let matches = logging::accepted(matches.map_err(help::advised));
    let path = match matches.subcommand_name() {
        // These commands have no settings of their own in the file.
        Some("token" | "config" | "init" | "completions" | "man") => None,
        Some("mcp") if edits_client(&matches) => None,
        _ => path(matches.get_one("config").map(PathBuf::as_path)),
    };
    let config = path.as_deref().map(read).transpose()?;
    applicable::check(&command, &matches, config.as_ref())?;
    let matches = match &config {
        Some(config) => {
            let all = completed(&command, &matches, given, config)?;
            logging::accepted(command.try_get_matches_from(all))
        }
        None => matches,
    };
    let mut arguments = logging::accepted(Arguments::from_arg_matches(&matches));
    arguments.common.configuration = config;
    Ok(arguments)
}

/// Returns whether `toolhost mcp` is to edit the configuration of a client.
fn edits_client(matches: &ArgMatches) -> bool {
    let below = matches.subcommand().map(|(_, below)| below);
    below.is_some_and(|below| below.subcommand_name().is_some())
}

/// Reads a file, and checks everything that can be checked without other files and variables.
pub(super) fn read(path: &Path) -> Result<Config, ConfigError> {
    let read = Config::read_with(path, settings::check);
    read.map_err(|error| unknown::with_levels(error, settings::keys))
}

/// Returns the problems of the files and directories that settings name.
pub(super) fn missing(config: &Config) -> Vec<Problem> {
    named::missing(config)
}

/// Returns the common options with the workspace and the state directory of a configuration, unless flags name others.
pub(super) fn with_locations(common: &Common, config: &Config) -> Common {
    let mut common = common.clone();
    for setting in settings::of(config) {
        let place = match &*setting.key {
            "workspace" => &mut common.base.workspace,
            "state_dir" => &mut common.base.state_dir,
            _ => continue,
        };
        let named = setting
            .value
            .as_str()
            .map(|path| config.resolve(Path::new(path)));
        *place = place.take().or(named);
    }
    common
}

/// Returns the named configuration file, or else the default one if it exists.
pub(super) fn path(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| {
        let path = toolhost_state::home::configuration()?.join("toolhost.toml");
        path.exists().then_some(path)
    })
}

/// Inserts, after the subcommands, a flag for each setting of the file that was given neither as a flag nor as a variable.
fn completed(
    command: &Command,
    matches: &ArgMatches,
    mut given: Vec<OsString>,
    config: &Config,
) -> anyhow::Result<Vec<OsString>> {
    let (mut command, mut matches, mut position) = (command, matches, 0);
    let mut known: Vec<&Arg> = command.get_arguments().collect();
    let mut all = vec![matches];
    while let Some((name, below)) = matches.subcommand() {
        let found = command.find_subcommand(name);
        command = found.context("the subcommand cannot be found")?;
        matches = below;
        position = position_of(&given, name, position).context("the subcommand cannot be found")?;
        known.extend(command.get_arguments());
        all.push(matches);
    }
    let mut flags = Vec::new();
    for setting in settings::of(config) {
        let arg = known.iter().find(|arg| setting.is_of(arg));
        // clap reports a global flag before the subcommand to the subcommand as well. The other settings are for other
        // subcommands.
        if let Some(arg) = arg
            && !all.iter().any(|matches| is_given(matches, arg))
        {
            flags.extend(setting.flags(arg, config).unwrap_or_default());
        }
    }
    given.splice(position + 1..position + 1, flags);
    Ok(given)
}

fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    let source = source(matches, arg.get_id().as_str());
    !matches!(source, None | Some(ValueSource::DefaultValue))
}

/// Returns the source of an argument's value; `None` also if there is no such argument.
fn source(matches: &ArgMatches, id: &str) -> Option<ValueSource> {
    let known = matches.try_contains_id(id).is_ok();
    known.then(|| matches.value_source(id)).flatten()
}

/// Returns the position of a subcommand after another: that of the first argument with its name that is not the value of a
/// flag. Each flag before a subcommand takes a value, except `--json` and `--workspace-anyway`.
fn position_of(given: &[OsString], name: &str, after: usize) -> Option<usize> {
    let is_flag = |argument: &OsString| {
        let text = argument.to_string_lossy();
        let has_value = !["--json", "--workspace-anyway"].contains(&&*text);
        text.starts_with("--") && !text.contains('=') && has_value
    };
    let is_value = |index: usize| index > 1 && given.get(index - 1).is_some_and(is_flag);
    (after + 1..given.len())
        .find(|index| given.get(*index).is_some_and(|given| given == name) && !is_value(*index))
}
