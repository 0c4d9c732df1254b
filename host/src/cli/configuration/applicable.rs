//! Which flags concern which subcommand: others are not listed in its help, and those that a running server would not see are
//! refused.

use anyhow::bail;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory as _};

use super::super::{Arguments, plugins};
use super::source;
use crate::config::Config;
use toolhost_service::audit_options;
use toolhost_service::{files, processes};

/// Global flags that hardly concern some subcommands, and those subcommands.
const UNLISTED: [(&str, &[&str]); 6] = [
    ("workspace", &["tools", "token", "plugin", "config"]),
    ("state_dir", &["token"]),
    ("config", &["token"]),
    ("log", &["token", "config"]),
    ("log_format", &["token", "config"]),
    ("guest_memory", &["agent"]),
];

/// The flag that names a running server.
const SERVER: &str = "server";

/// Flags that concern a running server alone.
const OF_SERVERS: [&str; 2] = ["token_file", "ca"];

/// Returns the command line, in which the help of each subcommand lists only what concerns it.
pub(super) fn command() -> Command {
    let mut command = Arguments::command();
    // Global flags are those of the subcommands only now.
    command.build();
    for (flag, names) in UNLISTED {
        let below = command.get_subcommands_mut();
        for below in below.filter(|below| names.contains(&below.get_name())) {
            hide(below, flag);
        }
    }
    command
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

/// Refuses flags of the command line that a running server would not see, and flags for a server where none is named.
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

/// Returns what names a running server, if anything does.
fn server(all: &[&ArgMatches], config: Option<&Config>) -> Option<&'static str> {
    let mut sources = all.iter().filter_map(|matches| source(matches, SERVER));
    match sources.next() {
        Some(ValueSource::CommandLine) => Some("--server"),
        Some(ValueSource::EnvVariable) => Some("TOOLHOST_SERVER"),
        _ if config?.settings().contains_key(SERVER) => Some("`server` in the configuration"),
        _ => None,
    }
}

/// Returns the flags that are about a host of this program's own.
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
