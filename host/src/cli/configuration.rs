//! The configuration file as defaults for flags: a flag wins over a variable, a variable over the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::builder::ValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, Parser as _};
use toml::Value;

use super::Arguments;
use crate::config::Config;

/// Flags that are no settings: the file cannot name another, and says more of plugins in `[plugins.NAME]`.
const NO_SETTINGS: [&str; 2] = ["config", "plugin"];

/// Returns the arguments of this program, with what the configuration says where nothing else does. Like clap, this ends the
/// program if they are not what it takes.
pub(super) fn arguments(given: Vec<OsString>) -> anyhow::Result<Arguments> {
    let command = Arguments::command();
    let matches = command.clone().get_matches_from(&given);
    let Some(path) = path(&matches) else {
        return Ok(Arguments::parse_from(given));
    };
    let config = Config::read(&path)?;
    let all = completed(&command, &matches, given, &config)
        .with_context(|| format!("the configuration {}", path.display()))?;
    let mut arguments = Arguments::parse_from(all);
    arguments.common.configuration = Some(config);
    Ok(arguments)
}

/// Returns the file that was named, or else the default one, if it is there.
fn path(matches: &ArgMatches) -> Option<PathBuf> {
    let named = matches.get_one::<PathBuf>("config").cloned();
    named.or_else(|| {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let directory = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let directory = directory.or_else(|| Some(variable("HOME")?.join(".config")));
        let path = directory?.join("toolhost/toolhost.toml");
        path.exists().then_some(path)
    })
}

/// Adds a flag for each setting that was not given in another way.
fn completed(
    command: &Command,
    matches: &ArgMatches,
    mut given: Vec<OsString>,
    config: &Config,
) -> anyhow::Result<Vec<OsString>> {
    let Some((name, below)) = matches.subcommand() else {
        return Ok(given);
    };
    let mut flags = Vec::new();
    for (key, value) in config.settings() {
        let (key, value) = match (key.as_str(), value) {
            ("workspace", Value::Table(table)) => ("workspace", directory(table)?),
            (key, value) => (key, value),
        };
        let named = |arg: &&Arg| {
            let long = arg.get_long().map(|long| long.replace('-', "_"));
            long.as_deref() == Some(key) && !NO_SETTINGS.contains(&key)
        };
        let subcommand = command.find_subcommand(name);
        let arg = command
            .get_arguments()
            .chain(subcommand.into_iter().flat_map(Command::get_arguments))
            .find(named);
        match arg {
            // A global flag that is given before the subcommand is known behind it as well.
            Some(arg) if is_given(below, arg) || is_given(matches, arg) => {}
            Some(arg) => flags.extend(flag(arg, value, config)?),
            None => {
                let elsewhere = command.get_subcommands().flat_map(Command::get_arguments);
                if !elsewhere.into_iter().any(|arg| named(&arg)) {
                    bail!(
                        "there is no setting {key:?}; settings are the long flags of `toolhost serve --help`, with `_` for `-`"
                    );
                }
            }
        }
    }
    let position = position(&given, name).context("the subcommand cannot be found")?;
    given.splice(position + 1..position + 1, flags);
    Ok(given)
}

fn directory(table: &toml::Table) -> anyhow::Result<&Value> {
    match table.get("dir") {
        Some(directory) if table.len() == 1 => Ok(directory),
        _ => bail!("[workspace] has one key, `dir`"),
    }
}

fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    let known = matches.try_contains_id(arg.get_id().as_str()).is_ok();
    let source = known.then(|| matches.value_source(arg.get_id().as_str()));
    !matches!(source.flatten(), None | Some(ValueSource::DefaultValue))
}

/// Returns where the subcommand stands: the first argument of its name that is not the value of a flag. Each flag before a
/// subcommand takes a value.
fn position(given: &[OsString], name: &str) -> Option<usize> {
    let is_flag = |argument: &OsString| {
        let text = argument.to_string_lossy();
        text.starts_with("--") && !text.contains('=')
    };
    let is_value = |index: usize| index > 1 && given.get(index - 1).is_some_and(is_flag);
    (1..given.len())
        .find(|index| given.get(*index).is_some_and(|given| given == name) && !is_value(*index))
}

/// Returns a setting as flags.
fn flag(arg: &Arg, value: &Value, config: &Config) -> anyhow::Result<Vec<OsString>> {
    let long = arg.get_long().unwrap_or_default();
    let key = long.replace('-', "_");
    let is_path = is_path(arg.get_value_parser());
    let one = |value: &Value| {
        let text = match value {
            Value::String(text) if is_path => {
                let path = config.resolve(Path::new(text));
                return Ok(with_value(long, path.as_os_str()));
            }
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            _ => bail!("{key} must be a text or a number"),
        };
        Ok(with_value(long, text.as_ref()))
    };
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(true)) => Ok(vec![format!("--{long}").into()]),
        (ArgAction::SetTrue, Value::Boolean(false)) => Ok(Vec::new()),
        (ArgAction::SetTrue, _) => bail!("{key} must be true or false"),
        (ArgAction::Append, Value::Array(values)) => values.iter().map(one).collect(),
        (_, Value::Array(_)) => bail!("{key} is not a list"),
        (_, value) => Ok(vec![one(value)?]),
    }
}

fn with_value(long: &str, value: &std::ffi::OsStr) -> OsString {
    let mut flag = OsString::from(format!("--{long}="));
    flag.push(value);
    flag
}

fn is_path(parser: &ValueParser) -> bool {
    parser.type_id() == ValueParser::path_buf().type_id()
}
