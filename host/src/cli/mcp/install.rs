//! `toolhost mcp install` and `uninstall`: the entry of this program in the configuration of a client.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use toolhost_edit::{Bounds, diff};
use toolhost_view::hidden::escape;

use super::client::{Client, HERE};
use super::edit::{add, remove};
use super::entry::{Entry, Removed};
use super::file::ConfigFile;
use crate::cli::literal::utf8;
use crate::cli::{Common, exit_code, print, question};

/// The longest that a call waits. Clients such as Claude Desktop, Codex and Zed give up after a minute.
const MAX_WAIT: &str = "50s";

/// Command lines to copy.
const INSTALL_EXAMPLES: &str = "\
Examples:
  toolhost mcp install --client claude-code --workspace ~/project
  toolhost mcp install --client vscode --project --workspace ~/project
  toolhost mcp install --client zed --dry-run";

/// Command lines to copy.
const UNINSTALL_EXAMPLES: &str = "\
Examples:
  toolhost mcp uninstall --client claude-code";

/// The commands below `toolhost mcp`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add this program to the configuration of an MCP client
    ///
    /// The entry starts `toolhost mcp` in the workspace. Shows the change and asks before it writes. Comments, order and other servers
    /// stay as they are. Exit codes: 0 if the entry is there, 1 if the answer is no, 2 for bad usage or a file that cannot be changed.
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(Options),
    /// Take this program out of the configuration of an MCP client
    ///
    /// Shows the change and asks before it writes. A file that `toolhost mcp install` made is removed. Exit codes: 0 if the entry is
    /// gone, 1 if the answer is no, 2 for bad usage or a file that cannot be changed.
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(Options),
}

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The client
    #[arg(long, value_name = "CLIENT")]
    client: Client,
    /// The name of the server at the client: letters, digits, `-` and `_`
    #[arg(long, value_name = "NAME", default_value = "toolhost", value_parser = name)]
    name: String,
    /// Change the file of the project in the workspace, and not that of the user
    #[arg(long)]
    project: bool,
    /// Change this file, and not that of the user
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    file: Option<PathBuf>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads the name of a server.
fn name(text: &str) -> Result<String, &'static str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match (1..=64).contains(&text.len()) && text.chars().all(is_allowed) {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 64 letters, digits, `-` and `_`"),
    }
}

pub(super) async fn run(common: &Common, command: Command) -> anyhow::Result<ExitCode> {
    let (options, installs) = match command {
        Command::Install(options) => (options, true),
        Command::Uninstall(options) => (options, false),
    };
    let (path, facts, name) = (options.path(common)?, options.client.facts(), &options.name);
    let shown = path.display();
    let project = options.project.then(|| common.workspace()).transpose()?;
    let file = ConfigFile::read(&path, project.as_deref())?;
    let edited = match (installs, file.text()) {
        (true, text) => add(text, &facts.format, &entry(common, name)?).map(Removed::Rest),
        (false, Some(text)) => remove(text, &facts.format, name),
        (false, None) => Ok(Removed::Absent),
    };
    let edited = edited.with_context(|| format!("cannot change {shown}"))?;
    let new = match &edited {
        Removed::Rest(new) => Some(new.as_str()),
        // The target of a link was not made by this program.
        Removed::Nothing if file.is_link() => Some("{}\n"),
        Removed::Nothing => None,
        Removed::Absent => file.text(),
    };
    if new == file.text() {
        let state = if installs {
            "is there already"
        } else {
            "is not there"
        };
        print(&format!("{shown}: {name} {state}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let old = file.text().unwrap_or_default().as_bytes();
    let difference = diff(
        &shown.to_string(),
        old,
        new.unwrap_or_default().as_bytes(),
        Bounds::NONE,
    );
    // A file of a project may have been written by a command.
    let difference = difference.replace("\r\n", "\n");
    print(escape(difference.trim_end()).0.as_ref())?;
    if options.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if !options.yes {
        if !std::io::stdin().is_terminal() {
            bail!("cannot ask without a terminal: confirm the change with --yes");
        }
        let action = if new.is_some() {
            "write this into"
        } else {
            "remove the file"
        };
        if !question::ask(&format!("{action} {shown}?")).await? {
            return Ok(exit_code(false));
        }
    }
    match new {
        Some(new) => file.replace(new),
        None => file.remove(),
    }?;
    let done = match installs {
        true => format!("was added; restart {} to use it", facts.name),
        false => "was removed".to_owned(),
    };
    print(&format!("{shown}: {name} {done}"))?;
    Ok(ExitCode::SUCCESS)
}

impl Options {
    /// Returns the file to change.
    fn path(&self, common: &Common) -> anyhow::Result<PathBuf> {
        if let Some(file) = &self.file {
            return std::path::absolute(file)
                .with_context(|| format!("{} cannot be used", file.display()));
        }
        let facts = self.client.facts();
        let client = facts.name;
        if self.project {
            let file = facts.project_file(&common.workspace()?);
            return file.with_context(|| {
                format!("{client} has no configuration of a project: leave --project out")
            });
        }
        facts.user_file(HERE).with_context(|| {
            format!("HOME is not set, so the configuration of {client} cannot be found: name it with --file")
        })
    }
}

/// Returns the entry that starts this program in the workspace, with the configuration and the state directory that were named.
fn entry(common: &Common, name: &str) -> anyhow::Result<Entry> {
    let workspace = common.workspace()?;
    let workspace = workspace.canonicalize().with_context(|| {
        let path = workspace.display();
        format!("the workspace {path} cannot be used; name a directory with --workspace")
    })?;
    common.check_workspace()?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let text = |path: &Path| utf8(path).map(str::to_owned);
    let mut args = vec![
        "mcp".to_owned(),
        "--workspace".to_owned(),
        text(&workspace)?,
    ];
    if common.workspace_anyway {
        args.push("--workspace-anyway".to_owned());
    }
    let named = [
        ("--config", &common.config),
        ("--state-dir", &common.state_dir),
    ];
    for (flag, path) in named {
        if let Some(path) = path {
            args.extend([flag.to_owned(), text(&std::path::absolute(path)?)?]);
        }
    }
    args.extend(["--max-wait".to_owned(), MAX_WAIT.to_owned()]);
    Ok(Entry {
        name: name.to_owned(),
        command: text(&program)?,
        args,
    })
}
