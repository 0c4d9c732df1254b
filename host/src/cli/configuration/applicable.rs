//! Which flags apply to which subcommand. The help of a subcommand lists only these. Flags that would have no effect on a
//! running server are refused.

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory as _};

use super::super::remote::LOCAL;
use super::super::{Arguments, help, plugins};
use super::source;
use crate::config::Config;
use toolhost_service::audit_options;
use toolhost_service::{files, processes};

/// Commands that find the server of the state directory without `--server`. They use no workspace of this machine.
const FINDERS: [&str; 11] = [
    "ps",
    "logs",
    "attach",
    "kill",
    "cancel",
    "top",
    "chats",
    "console",
    "calls",
    "show",
    "workspaces",
];

/// Other commands, each with the global flags that its help and that of the commands below it leaves out. With `json` among them,
/// the command prints nothing as JSON, or nothing else, and refuses that flag.
const UNLISTED: [(&[&str], &[&str]); 20] = [
    (&["serve"], &[JSON]),
    (&["mcp"], &[JSON]),
    (&["agent"], &[JSON]),
    (&["sandbox", "run"], &[JSON]),
    (&["plugin"], &OF_WORKSPACES),
    (&["plugin", "dev"], &[JSON]),
    (&["state"], &OF_WORKSPACES),
    (&["tools"], &OF_WORKSPACES),
    (
        &["config"],
        &["workspace", "workspace_anyway", "log", "log_format"],
    ),
    (&["config", "example"], &OF_FILES),
    (&["config", "example"], &[JSON]),
    (&["mcp", "install"], &OF_LOGS),
    (&["mcp", "uninstall"], &OF_LOGS),
    (&["init"], &[JSON, "log", "log_format"]),
    (&["upgrade"], &OF_WORKSPACES),
    (&["token"], &OF_FILES),
    (&["completions"], &OF_FILES),
    (&["completions"], &[JSON]),
    (&["man"], &OF_FILES),
    (&["man"], &[JSON]),
];

/// The flags that are about files of a host, and its log.
const OF_FILES: [&str; 6] = [
    "workspace",
    "workspace_anyway",
    "state_dir",
    "config",
    "log",
    "log_format",
];

/// The flags that are about the log of a host.
const OF_LOGS: [&str; 2] = ["log", "log_format"];

/// The flags that are about the directory in which commands run.
const OF_WORKSPACES: [&str; 2] = ["workspace", "workspace_anyway"];

/// The flag that asks for JSON.
const JSON: &str = "json";

/// Global flags that a command lists although the help of the commands around it leaves them out.
const LISTED: [(&[&str], &[&str]); 2] = [
    (&["plugin", "dev"], &OF_WORKSPACES),
    (&["plugin", "run"], &OF_WORKSPACES),
];

/// The flag that names a running server.
const SERVER: &str = "server";

/// Flags that need a running server.
const OF_SERVERS: [&str; 2] = [TOKEN_FILE, "ca"];

const TOKEN_FILE: &str = "token_file";

/// Returns the command line. The help of each subcommand lists only the flags that apply to it.
pub(super) fn command() -> Command {
    let mut command = Arguments::command();
    // Only after this call do subcommands have the global flags.
    command.build();
    let finders = FINDERS.iter().map(std::slice::from_ref);
    let finders = finders.map(|path| (path, &OF_WORKSPACES[..]));
    let unlisted = finders.chain(UNLISTED).map(|row| (row, true));
    let listed = LISTED.into_iter().map(|row| (row, false));
    for ((path, flags), hidden) in unlisted.chain(listed) {
        if let Some(command) = below(&mut command, path) {
            hide(command, flags, hidden);
        }
    }
    help::grouped(command)
}

/// Returns the command of this path.
fn below<'c>(command: &'c mut Command, path: &[&str]) -> Option<&'c mut Command> {
    match path {
        [] => Some(command),
        [first, rest @ ..] => below(command.find_subcommand_mut(first)?, rest),
    }
}

/// Hides flags from the help of a command and of those below it, or shows them there.
fn hide(command: &mut Command, flags: &[&str], hidden: bool) {
    let changed = |arg: Arg| match flags.contains(&arg.get_id().as_str()) {
        true => arg.hide(hidden),
        false => arg,
    };
    *command = std::mem::take(command).mut_args(changed);
    for below in command.get_subcommands_mut() {
        hide(below, flags, hidden);
    }
}

/// Refuses flags that would have no effect: on the command, on the named server, or because no server is named.
pub(super) fn check(
    mut command: &Command,
    matches: &ArgMatches,
    config: Option<&Config>,
) -> anyhow::Result<()> {
    let (mut all, mut path) = (vec![matches], Vec::new());
    while let Some((name, below)) = all.last().and_then(|matches| matches.subcommand()) {
        command = command.find_subcommand(name).unwrap_or(command);
        all.push(below);
        path.push(name);
    }
    if all.iter().any(|matches| is_set(matches, JSON))
        && UNLISTED
            .iter()
            .any(|(without, flags)| flags.contains(&JSON) && path.starts_with(without))
    {
        bail!(
            "--json has no effect on `toolhost {}`: leave it out",
            path.join(" ")
        );
    }
    if !command.get_arguments().any(|arg| arg.get_id() == SERVER) {
        return Ok(());
    }
    let given = |id: &str| {
        let mut all = all.iter();
        all.any(|matches| source(matches, id) == Some(ValueSource::CommandLine))
    };
    let flag = |id: &str| format!("--{}", id.replace('_', "-"));
    let Some(server) = server(&all, config) else {
        let finds = path.first().is_some_and(|name| FINDERS.contains(name));
        let mut ids = OF_SERVERS.into_iter();
        if let Some(id) = ids.find(|id| given(id) && !(finds && *id == TOKEN_FILE)) {
            bail!(
                "{} has no effect without --server: name the server, or leave the flag out",
                flag(id)
            );
        }
        return Ok(());
    };
    let values = all
        .iter()
        .filter_map(|matches| matches.try_get_one::<String>(SERVER).ok());
    let is_local = values.flatten().any(|value| value == LOCAL);
    for id in of_hosts() {
        // The server `local` is found by the state directory.
        if given(&id) && !(is_local && id == "state_dir") {
            bail!(
                "{} has no effect on a running server, which {server} names: leave it out, or set it where that server is started",
                flag(&id)
            );
        }
    }
    Ok(())
}

/// Returns whether a flag without a value was given.
fn is_set(matches: &ArgMatches, id: &str) -> bool {
    matches
        .try_get_one::<bool>(id)
        .is_ok_and(|set| set == Some(&true))
}

/// Returns the flag, variable or key that names a running server; `None` if there is none.
fn server(all: &[&ArgMatches], config: Option<&Config>) -> Option<&'static str> {
    let mut sources = all.iter().filter_map(|matches| source(matches, SERVER));
    match sources.next() {
        Some(ValueSource::CommandLine) => Some("--server"),
        Some(ValueSource::EnvVariable) => Some("TOOLHOST_SERVER"),
        _ if config?.settings().contains_key(SERVER) => Some("`server` in the configuration"),
        _ => None,
    }
}

/// Returns the flags of a host within this program.
fn of_hosts() -> Vec<String> {
    let own = Command::default();
    let own = plugins::Options::augment_args(own);
    let own = files::Options::augment_args(own);
    let own = audit_options::Options::augment_args(own);
    let own = processes::Options::augment_args(own);
    let own = own.get_arguments().map(|arg| arg.get_id().to_string());
    let located = OF_WORKSPACES.into_iter().chain(["state_dir"]);
    own.chain(located.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of a call that have an effect at a running server as well.
    const OF_EACH_CALL: [&str; 13] = [
        "tool",
        "arguments",
        "chat",
        "call",
        "text",
        "json",
        "server",
        "token_file",
        "ca",
        "config",
        "log",
        "log_format",
        "help",
    ];

    #[test]
    fn every_flag_of_a_call_has_an_effect_on_a_server_or_is_refused() {
        let command = command();
        let call = command.find_subcommand("call").unwrap();
        let refused = of_hosts();
        for arg in call.get_arguments() {
            let id = arg.get_id().as_str();
            let is_refused = refused.iter().any(|refused| refused == id);
            assert!(is_refused != OF_EACH_CALL.contains(&id), "{id}");
        }
    }

    #[test]
    fn commands_that_are_listed_by_name_exist() {
        let mut command = command();
        for (path, flags) in UNLISTED.iter().chain(&LISTED) {
            let found = below(&mut command, path);
            let found = found.unwrap_or_else(|| panic!("there is no command {path:?}"));
            for flag in *flags {
                assert!(
                    found.get_arguments().any(|arg| arg.get_id() == flag),
                    "{path:?}: {flag}"
                );
            }
        }
        for name in FINDERS {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }
}
