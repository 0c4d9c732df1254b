//! The help of the whole command line: its commands in groups, and advice for names that it does not have.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The commands by subject, those for every day first.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Calls and processes",
        &[
            "call", "tools", "ps", "top", "logs", "attach", "kill", "cancel", "chats", "calls",
            "show",
        ],
    ),
    (
        "Servers",
        &[
            "init",
            "serve",
            "mcp",
            "agent",
            "console",
            "workspaces",
            "token",
            "config",
        ],
    ),
    ("Plugins", &["plugin"]),
    (
        "Maintenance",
        &[
            "doctor",
            "sandbox",
            "state",
            "upgrade",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// Names that people try, and what to use for them.
const GUESSES: [(&[&str], &str); 11] = [
    (
        &["status", "info"],
        "`toolhost ps` and `toolhost top` show what runs on a server, and `toolhost doctor` checks this machine",
    ),
    (
        &["health", "ready", "ping"],
        "`toolhost doctor` checks this machine, and a server says at /readyz whether it takes calls and at /v1/health how its parts are",
    ),
    (&["version"], "`toolhost --version` prints it"),
    (
        &["stop", "end", "down", "shutdown"],
        "`toolhost kill PROCESS` ends a process, and `toolhost cancel CALL` a call; a server ends by Ctrl-C or SIGTERM, or by its unit",
    ),
    (
        &["exec", "run", "execute", "sh", "shell"],
        "`toolhost call execute command='make test'` runs a command as models do, and `toolhost sandbox run` runs one in the sandbox",
    ),
    (
        &["login", "auth"],
        "`toolhost console` prints a link that logs in to the console, and `toolhost token NAME` makes a token",
    ),
    (
        &["setup", "configure"],
        "`toolhost init` writes a configuration and a token, `toolhost config example` prints a configuration to copy, `toolhost mcp install` \
         adds this program to an MCP client, and `toolhost plugin new` begins a plugin",
    ),
    (
        &["start", "up", "server", "daemon", "restart"],
        "`toolhost serve` starts a server",
    ),
    (
        &["list", "ls"],
        "`toolhost ps` lists processes, `toolhost calls` calls, `toolhost tools` tools, and `toolhost plugin list` plugins",
    ),
    (
        &["web", "ui", "dashboard", "open"],
        "`toolhost console` prints a link that logs in to the console",
    ),
    (
        &["update", "install"],
        "`toolhost mcp install` adds this program to an MCP client, and `toolhost plugin pull` fetches packages of plugins; a new version of \
         toolhost replaces the program, `toolhost upgrade --check` says what it changes, and `toolhost serve --keep` keeps commands running \
         meanwhile",
    ),
];

/// Flags that people try, and what to use for them.
const FLAGS: [(&[&str], &str); 2] = [
    (
        &["--port", "--host", "--bind", "--address", "--addr"],
        "the flag is `--listen ADDRESS:PORT`, such as `--listen 127.0.0.1:7411`",
    ),
    (
        &["--dir", "--directory", "--root", "--cwd", "--path"],
        "the directory of commands and files is `--workspace DIR`",
    ),
];

/// Returns the command line with its commands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let mut groups = String::new();
    let header = Styles::styled();
    let header = header.get_header();
    let literal = Styles::styled();
    let literal = literal.get_literal();
    for (title, names) in GROUPS {
        _ = writeln!(groups, "{header}{title}:{header:#}");
        for name in names {
            let found = command.find_subcommand(name);
            let about = found
                .and_then(Command::get_about)
                .map(StyledStr::to_string)
                .unwrap_or_default();
            _ = writeln!(groups, "  {literal}{name:<11}{literal:#}  {about}");
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Adds advice to the error about a command or a flag that there is not.
pub(super) fn advised(mut error: Error) -> Error {
    let (guesses, tried, spelled_alike) = match error.kind() {
        ErrorKind::InvalidSubcommand => (
            &GUESSES[..],
            ContextKind::InvalidSubcommand,
            ContextKind::SuggestedSubcommand,
        ),
        ErrorKind::UnknownArgument => (
            &FLAGS[..],
            ContextKind::InvalidArg,
            ContextKind::SuggestedArg,
        ),
        _ => return error,
    };
    let Some(ContextValue::String(tried)) = error.get(tried) else {
        return error;
    };
    let mut guesses = guesses.iter();
    let Some((_, advice)) = guesses.find(|(names, _)| names.contains(&tried.as_str())) else {
        return error;
    };
    // A name that is only spelled like another one leads astray.
    error.remove(spelled_alike);
    let advice = ContextValue::StyledStrs(vec![(*advice).into()]);
    error.insert(ContextKind::Suggested, advice);
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn each_command_is_in_one_group() {
        let mut command = Arguments::command();
        command.build();
        let all = command.get_subcommands().map(Command::get_name);
        let mut all: Vec<_> = all.collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped.into_iter().copied().collect::<Vec<_>>(), all);
    }

    #[test]
    fn advice_is_for_names_that_no_command_has() {
        let mut command = Arguments::command();
        command.build();
        for name in GUESSES.iter().flat_map(|(names, _)| *names) {
            assert!(command.find_subcommand(name).is_none(), "{name}");
        }
    }
}
