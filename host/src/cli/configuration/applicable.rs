//! Which flags apply to which subcommand. The help of a subcommand lists only these. Flags that would have no effect on a
//! running server are refused.

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory as _};

use super::super::{Arguments, plugins};
use super::source;
use crate::config::Config;
use toolhost_service::audit_options;
use toolhost_service::{files, processes};

/// Global flags, each with the subcommands whose help leaves it out.
const UNLISTED: [(&str, &[&str]); 6] = [
    (
        "workspace",
        &[
            "calls",
            "show",
            "workspaces",
            "state",
            "tools",
            "token",
            "plugin",
            "config",
        ],
    ),
    ("state_dir", &["token"]),
    ("config", &["token"]),
    ("log", &["token", "config"]),
    ("log_format", &["token", "config"]),
    ("guest_memory", &["agent"]),
];

/// Global flags that a command lists although the help of the commands around it leaves them out.
const LISTED: [(&str, &[&str]); 2] = [
    ("workspace", &["plugin", "dev"]),
    ("workspace", &["plugin", "run"]),
];

/// The flag that names a running server.
const SERVER: &str = "server";

/// Flags that need a running server.
const OF_SERVERS: [&str; 2] = ["token_file", "ca"];

/// Returns the command line. The help of each subcommand lists only the flags that apply to it.
pub(super) fn command() -> Command {
    let mut command = Arguments::command();
    // Only after this call do subcommands have the global flags.
    command.build();
    for (flag, names) in UNLISTED {
        let below = command.get_subcommands_mut();
        for below in below.filter(|below| names.contains(&below.get_name())) {
            hide(below, flag);
        }
    }
    for (flag, path) in LISTED {
        show(&mut command, flag, path);
    }
    command
}

/// Lists a flag in the help of one command below this one.
fn show(command: &mut Command, flag: &str, path: &[&str]) {
    match path {
        [] => {
            let shown = |arg: Arg| match arg.get_id() == flag {
                true => arg.hide(false),
                false => arg,
            };
            *command = std::mem::take(command).mut_args(shown);
        }
        [first, rest @ ..] => {
            if let Some(below) = command.find_subcommand_mut(first) {
                show(below, flag, rest);
            }
        }
    }
}

fn hide(command: &mut Command, flag: &str) {
    let hidden = |arg: Arg| match arg.get_id() == flag {
        true => arg.hide(true),
        false => arg,
    };
    *command = std::mem::take(command).mut_args(hidden);
    for below in command.get_subcommands_mut() {
        hide(below, flag);
    }
}

/// Refuses flags that would have no effect on the named server, and flags for a server if none is named.
pub(super) fn check(
    mut command: &Command,
    matches: &ArgMatches,
    config: Option<&Config>,
) -> anyhow::Result<()> {
    let mut all = vec![matches];
    while let Some((name, below)) = all.last().and_then(|matches| matches.subcommand()) {
        command = command.find_subcommand(name).unwrap_or(command);
        all.push(below);
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
        if let Some(id) = OF_SERVERS.into_iter().find(|id| given(id)) {
            bail!(
                "{} has no effect without --server: name the server, or leave the flag out",
                flag(id)
            );
        }
        return Ok(());
    };
    for id in of_hosts() {
        if given(&id) {
            bail!(
                "{} has no effect on a running server, which {server} names: leave it out, or set it where that server is started",
                flag(&id)
            );
        }
    }
    Ok(())
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
    own.chain(["workspace", "state_dir"].map(str::to_owned))
        .collect()
}
