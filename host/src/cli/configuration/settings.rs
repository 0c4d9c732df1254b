//! The settings of the file: keys that are long flags, with `_` for `-`.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{Resettable, ValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory as _};
use toml::Value;

use super::super::Arguments;
use super::unknown;
use crate::config::{Config, MOST, meant};
use toolhost_sandbox::Network;
use toolhost_service::sandbox::Limit;

/// The subcommands whose flags are settings. The flags of the others concern a single run.
const COMMANDS: [&str; 4] = ["serve", "agent", "mcp", "call"];

/// Flags that are no settings: a file cannot name another file, has `[plugins.NAME]` for plugins, and does not concern a single
/// call.
const NO_SETTINGS: [&str; 8] = [
    "config", "plugin", "grant", "setting", "secret", "call", "text", "json",
];

/// Keys of the file that are no flags.
const SECTIONS: [&str; 7] = [
    "workspace",
    "plugin_dir",
    "plugins",
    "tokens",
    "workspaces",
    "store",
    "webhooks",
];

/// Begins the keys of the flags that are in the section `[sandbox]`.
const OF_SANDBOX: &str = "sandbox_";

/// The flags of the sandbox that are in its section `limits`.
const LIMITS_OF_SANDBOX: [&str; 4] = ["memory", "processes", "file_size", "cpu"];

/// One setting of a file.
pub(super) struct Setting<'c> {
    /// The flag, with `_` for `-`.
    pub(super) key: Cow<'c, str>,
    /// The path of the key in the file.
    pub(super) path: Cow<'c, str>,
    pub(super) value: &'c Value,
}

/// Returns the settings of a file.
pub(super) fn of(config: &Config) -> impl Iterator<Item = Setting<'_>> {
    let mut all = Vec::new();
    for (key, value) in config.settings() {
        match (key.as_str(), value) {
            ("workspace", Value::Table(table)) => {
                all.extend(table.get("dir").map(|value| Setting {
                    key: "workspace".into(),
                    path: "workspace.dir".into(),
                    value,
                }))
            }
            ("sandbox", Value::Table(table)) => all.extend(of_sandbox(table)),
            (key, value) => all.push(Setting {
                key: key.into(),
                path: key.into(),
                value,
            }),
        }
    }
    all.into_iter()
}

/// Returns the settings of the section `[sandbox]`, whose flags begin with its name.
fn of_sandbox(table: &toml::Table) -> impl Iterator<Item = Setting<'_>> {
    let limits = table.get("limits").and_then(Value::as_table);
    let limits = limits.into_iter().flatten();
    let limits = limits.map(|(key, value)| (format!("limits.{key}"), key, value));
    let others = table
        .iter()
        .filter(|(key, value)| *key != "limits" || !value.is_table());
    let others = others.map(|(key, value)| (key.clone(), key, value));
    others.chain(limits).map(|(path, key, value)| Setting {
        key: match key.as_str() {
            "mode" => "sandbox".into(),
            key => format!("sandbox_{key}").into(),
        },
        path: format!("sandbox.{path}").into(),
        value,
    })
}

impl Setting<'_> {
    /// Returns whether this is the flag of the setting.
    pub(super) fn is_of(&self, arg: &Arg) -> bool {
        key_of(arg).as_deref() == Some(&*self.key)
    }

    /// Returns the setting as flags. If its value has the wrong type, returns the path of the key, and a text that names the
    /// right type.
    pub(super) fn flags(
        &self,
        arg: &Arg,
        config: &Config,
    ) -> Result<Vec<OsString>, (String, String)> {
        let long = arg.get_long().unwrap_or_default();
        let wrong =
            |text: &str| Err((self.path.clone().into_owned(), format!("it must be {text}")));
        let each = |(index, value): (usize, &Value)| {
            let flag = with_value(long, arg, value, config);
            flag.ok_or_else(|| {
                (
                    format!("{}[{index}]", self.path),
                    format!("it must be {}", kind(arg)),
                )
            })
        };
        match (arg.get_action(), self.value) {
            (ArgAction::SetTrue, Value::Boolean(true)) => Ok(vec![format!("--{long}").into()]),
            (ArgAction::SetTrue, Value::Boolean(false)) => Ok(Vec::new()),
            (ArgAction::SetTrue, _) => wrong("true or false"),
            (ArgAction::Append, Value::Array(values)) => {
                values.iter().enumerate().map(each).collect()
            }
            (ArgAction::Append, value) => match with_value(long, arg, value, config) {
                Some(flag) => Ok(vec![flag]),
                None => wrong(&format!("{}, or a list of those", kind(arg))),
            },
            (_, Value::Array(values)) if is_list(arg) => {
                let texts: Option<Vec<_>> = values.iter().map(Value::as_str).collect();
                match texts {
                    Some(texts) => Ok(vec![format!("--{long}={}", texts.join(",")).into()]),
                    None => wrong(&kind(arg)),
                }
            }
            (_, value) => match with_value(long, arg, value, config) {
                Some(flag) => Ok(vec![flag]),
                None => wrong(&kind(arg)),
            },
        }
    }
}

fn key_of(arg: &Arg) -> Option<String> {
    let key = arg.get_long()?.replace('-', "_");
    (!NO_SETTINGS.contains(&&*key)).then_some(key)
}

/// Returns the kind of the values of this flag, with an example if there is a default.
fn kind(arg: &Arg) -> String {
    let kind = match (is_number(arg), is_path(arg)) {
        (true, _) => "a number",
        (false, true) => "a path in quotes",
        (false, false) => "a text in quotes",
    };
    match arg.get_default_values() {
        _ if is_optional(arg) => {
            let names = arg.get_value_names().unwrap_or_default();
            let names: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
            format!("true, false, or a {} in quotes", names.join(" "))
        }
        [default] if is_list(arg) => {
            format!(
                "{kind}, such as {:?}, or a list of those",
                default.to_string_lossy()
            )
        }
        [default] if is_number(arg) => format!("{kind}, such as {}", default.display()),
        [default] => format!("{kind}, such as {:?}", default.to_string_lossy()),
        _ => kind.to_owned(),
    }
}

fn with_value(long: &str, arg: &Arg, value: &Value, config: &Config) -> Option<OsString> {
    let mut flag = OsString::from(format!("--{long}="));
    match value {
        Value::String(text) if is_path(arg) => flag.push(config.resolve(Path::new(text))),
        Value::String(text) if !is_number(arg) => flag.push(OsStr::new(text)),
        Value::Boolean(true) if is_optional(arg) => flag.push("yes"),
        Value::Boolean(false) if is_optional(arg) => flag.push("no"),
        Value::Integer(number) if is_number(arg) || is_count(arg) => flag.push(number.to_string()),
        _ => return None,
    }
    Some(flag)
}

/// Returns whether the flag can be given without its value, which is then `yes`.
fn is_optional(arg: &Arg) -> bool {
    arg.get_num_args()
        .is_some_and(|count| count.min_values() == 0)
        && arg.get_action().takes_values()
}

pub(super) fn is_path(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == ValueParser::path_buf().type_id()
}

fn is_number(arg: &Arg) -> bool {
    let numbers = [
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<i32>(),
    ];
    let parsed = arg.get_value_parser().type_id();
    numbers.into_iter().any(|number| parsed == number)
}

/// Returns whether the value of this flag can be a list, whose texts have commas between them.
fn is_list(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<Network>()
}

/// Returns whether the values of this flag are numbers or the word `none`.
fn is_count(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<Limit<u64>>()
}

/// Returns the problems of the settings of a configuration.
pub(super) fn check(config: &Config) -> Vec<(String, String)> {
    let root = Arguments::command();
    let commands: Vec<_> = COMMANDS
        .iter()
        .filter_map(|name| root.find_subcommand(name))
        .map(|command| lenient(command, &root))
        .collect();
    let mut problems = Vec::new();
    let keys: Vec<_> = commands
        .iter()
        .flat_map(Command::get_arguments)
        .filter_map(key_of)
        .collect();
    if let Some(workspace) = config.settings().get("workspace") {
        problems.extend(check_workspace(workspace));
    }
    if let Some(sandbox) = config.settings().get("sandbox") {
        problems.extend(check_sandbox(sandbox, &keys));
    }
    for (key, _) in config.settings() {
        if !keys.contains(key) || key.starts_with(OF_SANDBOX) {
            let known = keys.iter().map(String::as_str).chain(SECTIONS);
            let known = known.filter(|key| !key.starts_with(OF_SANDBOX));
            // Suggest a name only for the problems that are shown: comparing names takes time.
            let meant = match problems.len() < MOST {
                true => meant(key, known),
                false => None,
            };
            problems.push((key.clone(), unknown::at_the_top(key, meant)));
        }
    }
    for command in &commands {
        for problem in check_values(command, config) {
            // Several commands have this setting.
            if !problems.iter().any(|(key, _)| *key == problem.0) {
                problems.push(problem);
            }
        }
    }
    problems
}

/// Returns the keys of the top level that are no sections.
pub(super) fn keys() -> Vec<String> {
    let keys = args().into_iter().filter_map(|arg| key_of(&arg));
    keys.chain(["plugin_dir".to_owned()]).collect()
}

/// Returns the flags of the commands whose flags are settings.
pub(super) fn args() -> Vec<Arg> {
    let root = Arguments::command();
    let commands = COMMANDS
        .iter()
        .filter_map(|name| root.find_subcommand(name));
    let own = root.get_arguments();
    let all = own.chain(commands.flat_map(Command::get_arguments));
    all.cloned().collect()
}

fn check_workspace(workspace: &Value) -> Vec<(String, String)> {
    let written = "write it as a section [workspace] with the key `dir`";
    let Value::Table(table) = workspace else {
        return vec![("workspace".into(), written.into())];
    };
    let others = table.keys().filter(|key| *key != "dir");
    let mut problems: Vec<_> = others
        .map(|key| {
            let text = "there is no such key; [workspace] has one, `dir`".into();
            (format!("workspace.{key}"), text)
        })
        .collect();
    if table.is_empty() {
        problems.push(("workspace".into(), written.into()));
    }
    problems
}

fn check_sandbox(sandbox: &Value, keys: &[String]) -> Vec<(String, String)> {
    let Value::Table(table) = sandbox else {
        let text = "write it as a section [sandbox] with the key `mode`";
        return vec![("sandbox".into(), text.into())];
    };
    let known = keys.iter().filter_map(|key| key.strip_prefix(OF_SANDBOX));
    // Several commands have these flags.
    let known: BTreeSet<_> = known.chain(["mode", "limits"]).collect();
    let is_limit = |key: &str| LIMITS_OF_SANDBOX.contains(&key);
    let limits = table.get("limits").and_then(Value::as_table);
    let limits = limits.into_iter().flat_map(toml::Table::keys);
    let limits = limits.map(|key| (format!("limits.{key}"), is_limit(key)));
    let others = table.iter().map(|(key, value)| {
        let is_known = match key.as_str() {
            "limits" => value.is_table(),
            key => known.contains(&key) && !is_limit(key),
        };
        (key.clone(), is_known)
    });
    let unknown = limits.chain(others).filter(|(_, is_known)| !is_known);
    let texts = unknown.map(|(key, _)| {
        let keys = known.iter().filter(|key| !is_limit(key));
        let text = match key.as_str() {
            "limits" => format!("it must be a section with {}", LIMITS_OF_SANDBOX.join(", ")),
            key if key.starts_with("limits.") => format!(
                "there is no such limit; there are {}",
                LIMITS_OF_SANDBOX.join(", ")
            ),
            _ => {
                let keys: Vec<_> = keys.copied().collect();
                format!("there is no such key; [sandbox] has {}", keys.join(", "))
            }
        };
        (format!("sandbox.{key}"), text)
    });
    texts.collect()
}

/// Returns a subcommand with the global flags, changed so that no flag is required and no variable is read.
fn lenient(command: &Command, root: &Command) -> Command {
    let command = command.clone().args(root.get_arguments());
    let command = command.no_binary_name(true);
    command.mut_args(|arg| arg.required(false).env(Resettable::Reset))
}

/// Returns the problems of the values for one subcommand: first those of single values, then conflicts between them.
fn check_values(command: &Command, config: &Config) -> Vec<(String, String)> {
    let (mut problems, mut together) = (Vec::new(), Vec::new());
    for setting in of(config) {
        let Some(arg) = command.get_arguments().find(|arg| setting.is_of(arg)) else {
            continue;
        };
        let flags = match setting.flags(arg, config) {
            Ok(flags) => flags,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let several = matches!(setting.value, Value::Array(_));
        for (index, flag) in flags.iter().enumerate() {
            let Some(problem) = refused(command, [flag]) else {
                continue;
            };
            let path = match several {
                true => format!("{}[{index}]", setting.path),
                false => setting.path.clone().into_owned(),
            };
            let problem = match problem {
                Refused::Value(text) => (path, text),
                Refused::Lacks(key) if config.settings().contains_key(&key) => continue,
                Refused::Lacks(key) => (
                    path,
                    format!("it takes effect only together with {key}: add that"),
                ),
                Refused::Conflict(..) => continue,
            };
            problems.push(problem);
        }
        together.extend(flags);
    }
    if problems.is_empty()
        && let Some(Refused::Conflict(one, other)) = refused(command, &together)
    {
        problems.push((
            one,
            format!("it cannot be used together with {other}: remove one of them"),
        ));
    }
    problems
}

/// A reason why clap refuses flags.
enum Refused {
    Value(String),
    /// Another key is required, and missing.
    Lacks(String),
    /// Two keys exclude each other.
    Conflict(String, String),
}

fn refused<'f>(
    command: &Command,
    flags: impl IntoIterator<Item = &'f OsString>,
) -> Option<Refused> {
    let error = command.clone().try_get_matches_from(flags).err()?;
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    // clap writes them as "--tls-key <FILE>".
    let key = |kind| {
        let text = texts(kind).into_iter().next().unwrap_or_default();
        let flag = text.split([' ', '=']).next().unwrap_or_default();
        flag.trim_start_matches('-').replace('-', "_")
    };
    let value = || texts(ContextKind::InvalidValue).concat();
    Some(match error.kind() {
        ErrorKind::InvalidValue => {
            let valid = texts(ContextKind::ValidValue);
            let meant = meant(&value(), valid.iter().map(String::as_str));
            let valid = meant.map_or_else(
                || format!("it must be one of {}", valid.join(", ")),
                |meant| format!("did you mean {meant:?}?"),
            );
            Refused::Value(format!("{:?} is not valid; {valid}", value()))
        }
        ErrorKind::MissingRequiredArgument => Refused::Lacks(key(ContextKind::InvalidArg)),
        ErrorKind::ArgumentConflict => {
            Refused::Conflict(key(ContextKind::InvalidArg), key(ContextKind::PriorArg))
        }
        kind => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            let source = source.unwrap_or_else(|| kind.to_string());
            // Some repeat the value, and some do not.
            Refused::Value(match source.contains(&value()) {
                true => source,
                false => format!("{:?} is not valid: {source}", value()),
            })
        }
    })
}
